"""One-hot tensors, identity matrices, triangles, selection and reversal, with operands that change between runs."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from onnx import helper
from op_check import check, convert_bytes, floats, int64s, make_model, over_versions, reference, rng, run_jny, versions

from jitney import Session
from jitney.errors import InvalidInput, InvalidModel

_DTYPES = [np.float32, np.float16, np.float64, ml_dtypes.bfloat16, np.int8, np.uint8, np.int32, np.int64, np.uint64, np.bool_]


def numbers(*shape: int, dtype: npt.DTypeLike = np.float32, seed: int = 0) -> npt.NDArray[Any]:
    """Small whole numbers that every dtype can hold."""
    return rng(seed).integers(0, 2 if dtype == np.bool_ else 9, shape).astype(dtype)


@over_versions("OneHot")
@pytest.mark.parametrize("axis", [-1, 0, 1, -2])
def test_one_hot(op: str, opset: int, axis: int) -> None:
    indices, values = rng().integers(0, 5, (2, 3)), np.array([2, 7], np.float32)
    check(op, [indices, np.array(5), values], opset=opset, constants=[1], axis=axis)
    check(op, [indices, int64s(5), values.astype(np.int64)], opset=opset, constants=[1, 2], axis=axis)


@pytest.mark.parametrize("opset", versions("OneHot"))
def test_one_hot_of_indices_outside(opset: int) -> None:
    indices = int64s(-4, -3, -1, 0, 2, 3, 9)
    for dtype in (np.int64, np.int8, np.uint64, np.float32):
        given = indices.astype(dtype)
        model = make_model("OneHot", [given, np.array(3), int64s(0, 1)], opset=opset)
        y = run_jny(model, {"x0": given, "x1": np.array(3), "x2": int64s(0, 1)})["y0"]
        wraps = opset >= 11 and dtype != np.uint64
        assert y.any(1).tolist() == [False, wraps, wraps, True, True, False, False]
        assert y.argmax(1)[y.any(1)].tolist() == ([0, 2] if wraps else []) + [0, 2]


def test_one_hot_with_a_depth_that_changes_between_runs() -> None:
    indices = int64s(0, 1, 3, -1)
    model = make_model("OneHot", [indices, np.array(3), int64s(0, 1)], opset=13)
    with Session(convert_bytes(model)) as session:
        for depth in (4, 2, 6, 4, 0):
            hot = session.run({"x0": indices, "x1": np.array(depth), "x2": int64s(0, 1)})["y0"]
            wanted = np.where(indices < 0, indices + depth, indices)[:, None] == np.arange(depth)
            np.testing.assert_array_equal(hot, wanted.astype(np.int64))


@pytest.mark.parametrize("dtype", _DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_values_of_every_type(dtype: npt.DTypeLike) -> None:
    values = np.array([0, 1]).astype(dtype)
    model = make_model("OneHot", [int64s(1, 0), np.array(2), values], opset=11)
    np.testing.assert_array_equal(
        run_jny(model, {"x0": int64s(1, 0), "x1": np.array(2), "x2": values})["y0"], np.eye(2)[[1, 0]].astype(dtype)
    )
    x = numbers(3, 4, dtype=dtype)
    np.testing.assert_array_equal(run_jny(make_model("Trilu", [x], opset=14), {"x0": x})["y0"], np.triu(x))
    model = make_model("Compress", [x, np.array([True, False, True])], opset=11, attributes={"axis": 0})
    np.testing.assert_array_equal(run_jny(model, {"x0": x, "x1": np.array([True, False, True])})["y0"], x[[0, 2]])
    model = make_model("ReverseSequence", [x, int64s(1, 2, 3, 0)], opset=10)
    wanted = x.copy()
    for column, length in enumerate((1, 2, 3, 0)):
        wanted[:length, column] = wanted[:length, column][::-1]
    np.testing.assert_array_equal(run_jny(model, {"x0": x, "x1": int64s(1, 2, 3, 0)})["y0"], wanted)


@over_versions("Hardmax")
@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_hardmax(op: str, opset: int, axis: int) -> None:
    if opset >= 11 or axis >= 0:
        check(op, [numbers(3, 4, 5)], opset=opset, axis=axis)
    check(op, [np.zeros((2, 3), np.float32)], opset=opset)


@over_versions("Hardmax", least=13)
def test_hardmax_of_nothing(op: str, opset: int) -> None:
    x = np.zeros((2, 0), np.float32)
    assert run_jny(make_model(op, [x], opset=opset), {"x0": x})["y0"].shape == (2, 0)


@over_versions("EyeLike")
@pytest.mark.parametrize("k", [0, 2, -1, 9, 2**62, -(2**63)])
def test_eye_like(op: str, opset: int, k: int) -> None:
    x = numbers(4, 3, dtype=np.int32)
    wanted = np.eye(4, 3, max(-9, min(k, 9)))
    for options in ({}, {"dtype": 11}):
        result = run_jny(make_model(op, [x], opset=opset, attributes={"k": k, **options}), {"x0": x})["y0"]
        np.testing.assert_array_equal(result, wanted.astype(np.float64 if options else np.int32), strict=True)


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("shape", [(4, 5), (5, 3), (2, 3, 4, 4), (0, 3), (2, 1, 5)])
def test_triangles(shape: tuple[int, ...], upper: int) -> None:
    x = floats(*shape)
    for k in (0, 1, -2, 7, -7):
        check("Trilu", [x, np.array(k)], opset=14, constants=[1], upper=upper)
    with Session(convert_bytes(make_model("Trilu", [x, np.array(0)], opset=14, attributes={"upper": upper}))) as session:
        for k in (0, -1, 2, 2**63 - 1, -(2**63), 1):
            wanted = (np.triu if upper else np.tril)(x, max(-9, min(k, 9)))
            np.testing.assert_array_equal(session.run({"x0": x, "x1": np.array(k)})["y0"], wanted)


@over_versions("Compress")
def test_compress(op: str, opset: int) -> None:
    x, chosen = floats(3, 4, 2), np.array([False, True, True])
    check(op, [x, chosen], opset=opset, axis=0)
    check(op, [x, chosen[:2]], opset=opset, axis=1)
    check(op, [x, np.array([True, False, True] * 4)], opset=opset)
    check(op, [x, np.zeros(3, bool)], opset=opset, axis=0)
    if opset >= 11:
        check(op, [x, chosen[1:]], opset=opset, axis=-1)


def test_compress_selects_anew_in_every_run() -> None:
    x = floats(5, 2)
    with Session(convert_bytes(make_model("Compress", [x, np.ones(5, bool)], opset=11, attributes={"axis": 0}))) as session:
        for seed in range(6):
            chosen = rng(seed).integers(0, 2, 5).astype(bool)
            np.testing.assert_array_equal(session.run({"x0": x, "x1": chosen})["y0"], x[chosen])


@over_versions("ReverseSequence")
@pytest.mark.parametrize("batch_axis", [0, 1])
@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 3), (4, 4, 2, 3)])
def test_reverse_sequence(op: str, opset: int, shape: tuple[int, ...], batch_axis: int) -> None:
    check(op, [floats(*shape), int64s(4, 1, 3, 2)], opset=opset, batch_axis=batch_axis, time_axis=1 - batch_axis)


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize(("shape", "axis"), [((2, 3, 6, 4), -2), ((2, 6, 4), 1), ((2, 3, 6), 2)])
def test_tensor_scatter(mode: str, shape: tuple[int, ...], axis: int) -> None:
    news = list(shape)
    news[axis] = 2
    cache, update = floats(*shape), floats(*news, seed=1)
    model = make_model("TensorScatter", [cache, update, int64s(0, 0)], opset=24, attributes={"mode": mode, "axis": axis})
    with Session(convert_bytes(model)) as session:
        for starts in ([0, 3], [4, 1], [5, 11] if mode == "circular" else [2, 2]):
            feeds = {"x0": cache, "x1": update, "x2": int64s(*starts)}
            np.testing.assert_array_equal(session.run(feeds)["y0"], reference(model, feeds)["y0"])
        if mode == "linear":
            with pytest.raises(InvalidInput, match="outside the range"):
                session.run({"x0": cache, "x1": update, "x2": int64s(5, 0)})
    check("TensorScatter", [cache, update], opset=24, mode=mode, axis=axis)


@pytest.mark.parametrize("options", [{}, {"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1}])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_cumprod(axis: int, options: dict[str, int]) -> None:
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        check("CumProd", [numbers(3, 4, dtype=dtype), np.array(axis)], opset=26, constants=[1], **options)
    model = make_model("CumProd", [floats(3, 4), np.array(0)], opset=26, attributes=options)
    with Session(convert_bytes(model)) as session:
        for along in (axis, 1, 0):
            feeds = {"x0": floats(3, 4), "x1": np.array(along)}
            np.testing.assert_allclose(session.run(feeds)["y0"], reference(model, feeds)["y0"], rtol=1e-6)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (np.float32, np.int32), (np.int64, np.float64), (np.float16, ml_dtypes.bfloat16), (np.uint8, np.int8),
        (ml_dtypes.float8_e4m3fn, np.uint8), (ml_dtypes.int4, ml_dtypes.uint4), (ml_dtypes.uint4, ml_dtypes.int4),
        (ml_dtypes.int4, ml_dtypes.float4_e2m1fn), (ml_dtypes.float4_e2m1fn, ml_dtypes.int4),
    ],
)  # fmt: skip
def test_bit_cast(source: npt.DTypeLike, target: npt.DTypeLike) -> None:
    x = np.arange(-6, 10).reshape(4, 4).astype(source)
    model = make_model("BitCast", [x], opset=26, attributes={"to": int(helper.np_dtype_to_tensor_dtype(np.dtype(target)))})
    y = run_jny(model, {"x0": x})["y0"]
    assert y.dtype == target
    width = 0xF if "4" in np.dtype(source).name and np.dtype(source).itemsize == 1 and "8" not in np.dtype(source).name else 0xFF
    np.testing.assert_array_equal(y.view(np.uint8) & width, x.view(np.uint8) & width)
    # As its own elements have it, not only in its low bits: arithmetic on the result must see the right numbers.
    back = make_model("BitCast", [y], opset=26, attributes={"to": int(helper.np_dtype_to_tensor_dtype(np.dtype(source)))})
    np.testing.assert_array_equal(run_jny(back, {"x0": y})["y0"].astype(np.float64), x.astype(np.float64))


def test_bit_cast_between_widths() -> None:
    with pytest.raises(InvalidModel, match="32 bits cannot be read as elements of 64 bits"):
        convert_bytes(make_model("BitCast", [floats(2)], opset=26, attributes={"to": 7}))
