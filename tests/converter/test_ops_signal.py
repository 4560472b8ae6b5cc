"""Fourier transforms, windows and the mel scale, against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from op_check import Array, assert_same, floats, int64s, make_model, over_versions, run_jny

from jitney.errors import InvalidInput, InvalidModel


def split(x: Array) -> Array:
    """Real and imaginary parts along a last axis."""
    return np.stack([x.real, x.imag], -1)


def joined(x: Array) -> Array:
    return np.asarray(x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0])


def run(
    op: str,
    inputs: list[Array | None],
    opset: int,
    *,
    symbolic: bool = False,
    constants: tuple[int, ...] = (),
    **attributes: Any,
) -> Array:
    model = make_model(op, inputs, opset=opset, symbolic=symbolic, constants=constants, attributes=attributes)
    fed = {f"x{i}": array for i, array in enumerate(inputs) if array is not None and i not in constants}
    return run_jny(model, fed)["y0"]


def dft(x: Array, length: int | None, axis: int, opset: int, *, constant: bool = True, **attributes: Any) -> Array:
    """The op with the axis as the opset has it, checked to give the same where sizes are open."""
    inputs: list[Array | None] = [x, None if length is None else np.array(length)]
    constants: tuple[int, ...] = (1,) if constant and length is not None else ()
    if opset < 20:
        attributes["axis"] = axis
    else:
        inputs.append(np.array(axis))
        constants += (2,) if constant else ()
    result = run("DFT", inputs, opset, constants=constants, **attributes)
    assert_same(run("DFT", inputs, opset, symbolic=True, constants=constants, **attributes), result)
    return result


@over_versions("DFT", least=17)
@pytest.mark.parametrize("parts", [1, 2])
def test_forward_and_back(op: str, opset: int, parts: int) -> None:
    x = floats(2, 6, 5, parts, dtype=np.float64)
    for axis, lengths in ((0, (4,)), (2, (None, 4, 9)), (-3, (None,))):
        for length in lengths:
            position = axis if axis >= 0 else axis + 1
            for constant in (True, False):
                spectrum = dft(x, length, axis, opset, constant=constant)
                assert_same(spectrum, split(np.fft.fft(joined(x), length, position)), 1e-12)
                signal = dft(x, length, axis, opset, constant=constant, inverse=1)
                assert_same(signal, split(np.fft.ifft(joined(x), length, position)), 1e-12)


@over_versions("DFT", least=17)
def test_one_sided(op: str, opset: int) -> None:
    x = floats(3, 7, 4, 1, dtype=np.float64)
    for axis, lengths in ((0, (2,)), (1, (None, 1, 5, 8)), (2, (None,))):
        for length in lengths:
            spectrum = dft(x, length, axis, opset, onesided=1)
            assert_same(spectrum, split(np.fft.rfft(x[..., 0], length, axis)), 1e-12)
            signal = dft(floats(3, 7, 4, 2, dtype=np.float64), length, axis, opset, onesided=1, inverse=1)
            expected = np.fft.irfft(joined(floats(3, 7, 4, 2, dtype=np.float64)), length, axis)
            assert_same(signal, expected[..., None], 1e-12)


@pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 12, 31, 37, 128, 194, 400, 1009])
def test_lengths(length: int) -> None:
    """Products of small primes, large primes, and products with a large prime."""
    x = floats(length, 2, dtype=np.float64)
    assert_same(run("DFT", [x], 20), split(np.fft.fft(joined(x))), 1e-11)
    assert_same(run("DFT", [x], 20, inverse=1), split(np.fft.ifft(joined(x))), 1e-11)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_dtypes(dtype: type) -> None:
    x = floats(3, 16, 2, dtype=dtype)
    assert_same(run("DFT", [x], 20), split(np.fft.fft(joined(x.astype(np.float64)))).astype(dtype))


def test_what_has_no_transform() -> None:
    with pytest.raises(InvalidModel, match="the last axis of x has size 3"):
        run("DFT", [floats(4, 3)], 20)
    with pytest.raises(InvalidModel, match="last axis of x has size 2"):
        run("DFT", [floats(4, 2)], 20, onesided=1)
    with pytest.raises(InvalidModel, match="axis -1 is that of real and imaginary parts"):
        run("DFT", [floats(4, 2), None, np.array(-1)], 20, constants=(2,))
    with pytest.raises(InvalidInput, match="the transform has length -1"):
        run("DFT", [floats(4, 2), np.array(-1)], 20)
    assert run("DFT", [floats(0, 4, 2)], 20).shape == (0, 4, 2)


def frames(x: Array, window: Array, step: int) -> Array:
    count = (x.shape[1] - len(window)) // step + 1
    return np.stack([joined(x)[:, i * step : i * step + len(window)] * window for i in range(count)], 1)


@pytest.mark.parametrize(("parts", "onesided"), [(1, 0), (1, 1), (2, 0)])
def test_stft(parts: int, onesided: int) -> None:
    x = floats(2, 50, parts, dtype=np.float64)
    window = np.hanning(16)
    transform = np.fft.rfft if onesided else np.fft.fft
    for step in (1, 16, 40):
        for dtype in (np.int32, np.int64):
            given = [x, np.array(step, dtype), window, np.array(16, dtype)]
            expected = split(transform(frames(x, window, step)))
            for symbolic in (False, True):
                assert_same(run("STFT", [*given], 17, onesided=onesided, symbolic=symbolic), expected, 1e-12)
            assert_same(run("STFT", [*given[:3]], 17, onesided=onesided, constants=(1, 2)), expected, 1e-12)
            without = [x, given[1], None, given[3]]
            expected = split(transform(frames(x, np.ones(16), step)))
            assert_same(run("STFT", without, 17, onesided=onesided, constants=(1, 3)), expected, 1e-12)
    whole = run("STFT", [x, np.array(3)], 17, onesided=onesided)
    assert_same(whole, split(transform(frames(x, np.ones(50), 3))), 1e-12)
    assert run("STFT", [x[:, :10], np.array(3), window], 17, onesided=onesided).shape[1] == 0


WINDOWS = {
    "HannWindow": lambda n, m: 0.5 - 0.5 * np.cos(2 * np.pi * n / m),
    "HammingWindow": lambda n, m: 25 / 46 - 21 / 46 * np.cos(2 * np.pi * n / m),
    "BlackmanWindow": lambda n, m: 0.42 - 0.5 * np.cos(2 * np.pi * n / m) + 0.08 * np.cos(4 * np.pi * n / m),
}


@pytest.mark.parametrize("op", WINDOWS)
@pytest.mark.parametrize("periodic", [0, 1])
def test_windows(op: str, periodic: int) -> None:
    for dtype in (np.int32, np.int64):
        for size in (2, 10, 17):
            n = np.arange(size)
            expected = WINDOWS[op](n, size if periodic else size - 1)
            actual = run(op, [np.array(size, dtype)], 17, periodic=periodic)
            assert actual.dtype == np.float32 and actual.shape == (size,)
            np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-6)
            wide = run(op, [np.array(size, dtype)], 17, periodic=periodic, output_datatype=TensorProto.DOUBLE, constants=(0,))
            assert wide.dtype == np.float64
            np.testing.assert_allclose(wide, expected, rtol=1e-4, atol=1e-6)


def mel_weights(bands: int, length: int, rate: int, low: float, high: float) -> Array:
    """As the standard's evaluator computes it, in double."""
    ends = [2595 * np.log10(1 + edge / 700) for edge in (low, high)]
    corners = np.arange(bands + 2) * (ends[1] - ends[0]) / (bands + 2) + ends[0]
    bins = np.floor((length + 1) * 700 * (10 ** (corners / 2595) - 1) / rate).astype(int)
    weights = np.zeros((length // 2 + 1, bands))
    for i, (left, peak, right) in enumerate(zip(bins, bins[1:], bins[2:])):
        for j in range(left, peak + 1):
            weights[j, i] = (j - left) / (peak - left) if peak > left else 1
        for j in range(peak, right):
            weights[j, i] = (right - j) / (right - peak)
    return weights


@pytest.mark.parametrize("sizes", [(8, 16, 8192, 0.0, 4096.0), (40, 400, 16000, 20.0, 7600.0), (5, 31, 1000, 10.5, 333.0)])
def test_mel_weights(sizes: tuple[int, int, int, float, float]) -> None:
    expected = mel_weights(*sizes)
    for integers in (np.int32, np.int64):
        inputs: list[Array | None] = [np.array(item, integers) for item in sizes[:3]]
        inputs += [np.array(item, np.float32) for item in sizes[3:]]
        assert_same(run("MelWeightMatrix", inputs, 17), expected.astype(np.float32))
        constant = run("MelWeightMatrix", inputs, 17, constants=(0, 1, 2, 3, 4), output_datatype=TensorProto.DOUBLE)
        assert_same(constant, expected, 1e-9)


def test_a_log_mel_spectrogram_of_any_length() -> None:
    """What speech models begin with, with an open number of samples."""
    from onnx import helper, numpy_helper
    from op_check import check_model, model_of, value

    nodes = [
        helper.make_node("STFT", ["x", "step", "window"], ["spectra"]),
        helper.make_node("Mul", ["spectra", "spectra"], ["squares"]),
        helper.make_node("ReduceSum", ["squares", "last"], ["power"], keepdims=0),
        helper.make_node("MelWeightMatrix", ["bands", "length", "rate", "low", "high"], ["mel"]),
        helper.make_node("MatMul", ["power", "mel"], ["bins"]),
        helper.make_node("Log", ["bins"], ["y"]),
    ]
    arrays = {
        "step": np.array(160), "window": np.hanning(400).astype(np.float32), "last": int64s(3), "bands": np.array(20),
        "length": np.array(400), "rate": np.array(16000), "low": np.array(40, np.float32), "high": np.array(7600, np.float32),
    }  # fmt: skip
    constants = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    model = model_of(nodes, [value("x", ["N", "S", 1])], [value("y")], constants)
    for samples in (400, 1600):
        check_model(model, {"x": floats(2, samples, 1)}, 2e-4)
