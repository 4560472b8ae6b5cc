"""ONNX Runtime's own products, activations and norms against ONNX Runtime; those without a CPU kernel against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_check import Array, check, floats, int64s, make_model, rng, run_jny

MICROSOFT = "com.microsoft"


def ms(op: str, inputs: list[Array | None], **options: Any) -> None:
    check(op, inputs, opset=17, domain=MICROSOFT, **options)


def run_ms(op: str, inputs: list[Array | None], outputs: int = 1, **attributes: Any) -> list[Array]:
    model = make_model(op, inputs, opset=17, domain=MICROSOFT, outputs=outputs, attributes=attributes)
    results = run_jny(model, {f"x{index}": array for index, array in enumerate(inputs) if array is not None})
    return list(results.values())


@pytest.mark.parametrize(
    ("a", "b", "options"),
    [
        ((3, 4), (4, 5), {"alpha": 0.5}),
        ((2, 4, 3), (2, 5, 4), {"transA": 1, "transB": 1, "alpha": 2.0}),
        ((4,), (4, 5), {"transA": 1}),
        ((3, 2, 4), (2, 4, 5), {"transBatchA": 1}),
        ((4, 2, 3), (2, 4, 5), {"transBatchA": 1, "transA": 1}),
        ((2, 6, 3, 4), (4, 2, 6, 5), {"transBatchB": 1}),
    ],
)
def test_fused_matmul(a: tuple[int, ...], b: tuple[int, ...], options: dict[str, Any]) -> None:
    ms("FusedMatMul", [floats(*a), floats(*b, seed=1)], **options)


_ACTIVATIONS = ["Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid"]


@pytest.mark.parametrize("activation", _ACTIVATIONS)
def test_fused_gemm(activation: str) -> None:
    operands = [floats(3, 4), floats(5, 4, seed=1), floats(5, seed=2)]
    numbers = {"LeakyRelu": {"activation_alpha": 0.1}, "HardSigmoid": {"activation_alpha": 0.3, "activation_beta": 0.4}}
    ms("FusedGemm", operands, activation=activation, transB=1, alpha=0.5, **numbers.get(activation, {}))


@pytest.mark.parametrize("activation", ["", *_ACTIVATIONS, "Clip"])
def test_fused_conv(activation: str) -> None:
    x, w, b = floats(2, 4, 6, 7), floats(6, 2, 3, 3, seed=1), floats(6, seed=2)
    parameters = {"LeakyRelu": [0.1], "HardSigmoid": [0.3, 0.4], "Clip": [-0.5, 0.7]}.get(activation, [])
    options = {"group": 2, "pads": [1, 1, 1, 1], "activation": activation, "activation_params": parameters}
    options = {key: value for key, value in options.items() if value not in ("", [])}
    ms("FusedConv", [x, w, b], constants=[1, 2], **options)
    if activation in ("", "Relu"):
        ms("FusedConv", [x, w, b, floats(2, 6, 6, 7, seed=3)], **options)


def test_convolutions_with_channels_last() -> None:
    x, w, b, z = floats(1, 5, 6, 3), floats(4, 3, 3, 3, seed=1), floats(4, seed=2), floats(1, 3, 4, 4, seed=3)
    plain = run_ms("FusedConv", [np.ascontiguousarray(x.transpose(0, 3, 1, 2)), w, b])[0].transpose(0, 2, 3, 1)
    np.testing.assert_allclose(run_ms("NhwcConv", [x, w, b])[0], plain, rtol=1e-5)
    np.testing.assert_allclose(run_ms("NhwcFusedConv", [x, w, b, z], activation="Relu")[0], np.maximum(plain + z, 0), atol=1e-5)


def test_gelus() -> None:
    x, bias = floats(2, 3, 8) * 3, floats(8, seed=1)
    ms("Gelu", [x])
    ms("FastGelu", [x])
    ms("FastGelu", [x, bias], constants=[1])
    ms("BiasGelu", [x, bias])
    ms("QuickGelu", [x])
    ms("QuickGelu", [x], alpha=1.0)
    half = run_ms("Gelu", [x[..., 4:] + bias[4:]])[0]
    np.testing.assert_allclose(run_ms("BiasSplitGelu", [x, bias])[0], (x + bias)[..., :4] * half, rtol=1e-5, atol=1e-6)
    product = run_ms("FastGelu", [floats(3, 4) @ floats(4, 5, seed=1) + floats(5, seed=2)])[0]
    y = run_ms("GemmFastGelu", [floats(3, 4), floats(4, 5, seed=1), floats(5, seed=2)])[0]
    np.testing.assert_allclose(y, product, rtol=1e-4, atol=1e-5)


def test_small_ops() -> None:
    x = floats(2, 3, 4)
    ms("ExpandDims", [x, np.array(1, np.int32)], constants=[1])
    ms("ExpandDims", [x, np.array(-1, np.int32)], constants=[1])
    ms("Pad", [x, int64s(0, 1, 0, 1, 0, 2), np.array([2.5], np.float32)], constants=[1])
    ms("Range", [np.array(2, np.int64), np.array(9, np.int64)])
    ms("Range", [np.array(9, np.float32), np.array(2, np.float32), np.array(-2, np.float32)])
    np.testing.assert_allclose(
        run_ms("BiasAdd", [x, floats(4, seed=1), floats(2, 3, 4, seed=2)])[0],
        x + floats(4, seed=1) + floats(2, 3, 4, seed=2),
        rtol=1e-6,
    )


def test_ops_that_onnx_has_too() -> None:
    ms("Trilu", [floats(2, 4, 5), np.array(1, np.int64)], upper=0)
    ms("GridSample", [floats(1, 2, 4, 5), floats(1, 3, 6, 2, seed=1)], mode="bilinear", align_corners=1)
    ms("GridSample", [floats(1, 2, 4, 5), floats(1, 3, 6, 2, seed=1)], mode="nearest", padding_mode="border")
    ms("Unique", [np.array([3, 1, 3, 2, 1, 3], np.float32)], outputs=3)


@pytest.mark.parametrize("op", ["ComplexMul", "ComplexMulConj"])
def test_complex_products(op: str) -> None:
    a, b = floats(3, 4, 2), floats(4, 2, seed=1)
    left, right = a[..., 0] + 1j * a[..., 1], b[..., 0] + 1j * b[..., 1]
    expected = left * (right.conj() if op == "ComplexMulConj" else right)
    np.testing.assert_allclose(run_ms(op, [a, b])[0], np.stack([expected.real, expected.imag], -1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_skip_layer_normalization(dtype: type) -> None:
    x, gamma, beta, bias = floats(2, 3, 8, dtype=dtype), *(floats(8, seed=seed, dtype=dtype) for seed in (1, 2, 3))
    tolerance = 2e-5 if dtype == np.float32 else 4e-3
    for skip in (floats(2, 3, 8, seed=4, dtype=dtype), floats(1, 3, 8, seed=4, dtype=dtype), floats(3, 8, seed=4, dtype=dtype)):
        names = ["y", "", "", "sum"]
        options = {"outputs": names, "tolerance": tolerance}
        ms("SkipLayerNormalization", [x, skip, gamma, beta, bias], epsilon=1e-5, **options)
        ms("SkipLayerNormalization", [x, skip, gamma], constants=[2], tolerance=tolerance)
        ms("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], epsilon=1e-5, **options)
        ms("SkipSimplifiedLayerNormalization", [x, skip, gamma], tolerance=tolerance)


@pytest.mark.parametrize("axis", [-1, 1])
def test_simplified_layer_normalization(axis: int) -> None:
    x = floats(2, 3, 8)
    check("SimplifiedLayerNormalization", [x, floats(*x.shape[axis:], seed=1)], opset=17, axis=axis, epsilon=1e-5)
    check("SimplifiedLayerNormalization", [x, floats(*x.shape[axis:], seed=1)], opset=17, axis=axis, outputs=2)


def test_layer_normalization_before_it_was_in_onnx() -> None:
    check("LayerNormalization", [floats(2, 3, 8), floats(8, seed=1), floats(8, seed=2)], opset=12, axis=-1)


@pytest.mark.parametrize("with_mask", [False, True])
@pytest.mark.parametrize("with_segments", [False, True])
def test_embed_layer_normalization(with_mask: bool, with_segments: bool) -> None:
    ids, segments = rng().integers(0, 20, (2, 5)).astype(np.int32), rng(1).integers(0, 2, (2, 5)).astype(np.int32)
    tables = [floats(20, 8), floats(10, 8, seed=1), floats(2, 8, seed=2)]
    norm = [floats(8, seed=3), floats(8, seed=4)]
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32) if with_mask else None
    if not with_segments:
        tables[2] = None  # type: ignore[call-overload]
    operands: list[Array | None] = [ids, segments if with_segments else None, *tables, *norm, mask]
    ms("EmbedLayerNormalization", operands, outputs=2, epsilon=1e-5)
    ms("EmbedLayerNormalization", operands, outputs=3, mask_index_type=1)
    ms("EmbedLayerNormalization", [*operands, int64s(*range(4, -1, -1)).astype(np.int32).reshape(1, 5)], outputs=2)


@pytest.mark.parametrize("with_mask", [False, True])
def test_quantised_embed_layer_normalization(with_mask: bool) -> None:
    ids, segments = rng().integers(0, 20, (2, 5)).astype(np.int32), rng(1).integers(0, 2, (2, 5)).astype(np.int32)
    shapes = [(20, 8), (10, 8), (2, 8), (8,), (8,)]
    stored = [rng(2 + index).integers(0, 256, shape).astype(np.uint8) for index, shape in enumerate(shapes)]
    scales = [np.array(0.01 * (index + 1), np.float32) for index in range(5)]
    zeros = [np.array(100 + index, np.uint8) for index in range(5)]
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32) if with_mask else None
    ms("QEmbedLayerNormalization", [ids, segments, *stored, mask, *scales, *zeros], outputs=2, epsilon=1e-5)


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("skip", [None, (2, 4, 5, 6), (2, 6), (2, 1, 1, 6)])
def test_group_norm(last: int, skip: tuple[int, ...] | None) -> None:
    x, gamma, beta, bias = floats(2, 4, 5, 6), floats(6, seed=1), floats(6, seed=2), floats(6, seed=3)
    added = None if skip is None else floats(*skip, seed=4)
    total = x if added is None else x + (added[:, None, None] if added.ndim == 2 else added) + bias
    rows = total.transpose(0, 3, 1, 2).reshape(2, 3, -1)
    normal = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-5)
    y = normal.reshape(2, 6, 4, 5).transpose(0, 2, 3, 1) * gamma + beta
    expected = [y / (1 + np.exp(-y)), total]

    def laid_out(array: Array) -> Array:
        return array if last or array.ndim != 4 else np.ascontiguousarray(array.transpose(0, 3, 1, 2))

    operands: list[Array | None] = [laid_out(x), gamma, beta]
    operands += [] if added is None else [laid_out(added), bias]
    op = "GroupNorm" if added is None else "SkipGroupNorm"
    results = run_ms(op, operands, 1 if added is None else 2, groups=3, activation=1, channels_last=last)
    for result, wanted in zip(results, expected):
        np.testing.assert_allclose(result, laid_out(wanted), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("crop", [(3, 4), (1, 2), (7, 1)])
def test_crop_and_resize(mode: str, crop: tuple[int, int]) -> None:
    boxes = np.array([[0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], [0.5, 0.6, 0.2, 0.1], [-0.3, 0.4, 0.5, 1.4]], np.float32)
    operands = [floats(2, 3, 6, 5), boxes, np.array([1, 0, 1, 0], np.int32), np.array(crop, np.int32)]
    ms("CropAndResize", operands, constants=[3], mode=mode, extrapolation_value=2.5)
    ms("CropAndResize", operands, mode=mode)
