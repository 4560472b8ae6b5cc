"""Ops on quantised numbers: products with 32-bit sums and what ONNX Runtime adds, equal to its results to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from op_check import Array, check, check_model, floats, make_model, over_versions, rng, run_jny

MICROSOFT = "com.microsoft"


def integers(*shape: int, dtype: npt.DTypeLike = np.uint8, seed: int = 0) -> Array:
    limits = np.iinfo(np.dtype(dtype))
    return rng(seed).integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)


def number(value: float, dtype: npt.DTypeLike = np.float32) -> Array:
    return np.array(value, dtype)


def scales(*shape: int, seed: int = 0) -> Array:
    return rng(seed).uniform(0.01, 0.1, shape).astype(np.float32)


def ms(op: str, inputs: list[Array | None], steps: int = 0, **options: Any) -> None:
    check(op, inputs, opset=17, domain=MICROSOFT, steps=steps, **options)


@over_versions("MatMulInteger")
@pytest.mark.parametrize("kinds", [(np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8)])
def test_matmul_integer(op: str, opset: int, kinds: tuple[type, type]) -> None:
    a, b = integers(2, 3, 40, dtype=kinds[0]), integers(40, 5, dtype=kinds[1], seed=1)
    check(op, [a, b], opset=opset)
    check(op, [a, b, number(12, kinds[0]), number(3, kinds[1])], opset=opset, constants=[2, 3])
    check(op, [a, b, np.array([12], kinds[0]), integers(5, dtype=kinds[1], seed=2)], opset=opset)


def test_matmul_integer_with_a_zero_point_for_each_row() -> None:
    a, b, zeros = integers(3, 4), integers(4, 5), integers(3, seed=2)
    feeds = {"x0": a, "x1": b, "x2": zeros, "x3": number(7, np.uint8)}
    y = run_jny(make_model("MatMulInteger", list(feeds.values()), opset=10), feeds)["y0"]
    np.testing.assert_array_equal(y, (a.astype(np.int32) - zeros[:, None]) @ (b.astype(np.int32) - 7))


@over_versions("ConvInteger")
def test_conv_integer(op: str, opset: int) -> None:
    x, w = integers(2, 4, 6, 7), integers(6, 2, 3, 3, seed=1)
    check(op, [x, w], opset=opset, group=2, pads=[1, 0, 2, 1])
    check(op, [x, w, number(9, np.uint8), number(100, np.uint8)], opset=opset, group=2, strides=[2, 1], pads=[1, 1, 1, 1])
    check(op, [x, w, number(9, np.uint8)], opset=opset, group=2, auto_pad="SAME_UPPER", strides=[2, 2])


@over_versions("QLinearMatMul")
@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_qlinear_matmul(op: str, opset: int, kind: type) -> None:
    a, b = integers(2, 3, 40, dtype=kind), integers(40, 5, dtype=kind, seed=1)
    zeros = [number(3, kind), number(8, kind), number(11, kind)]
    check(op, [a, number(0.03), zeros[0], b, number(0.02), zeros[1], number(1.1), zeros[2]], opset=opset, constants=[1, 2, 6, 7])
    columns = [scales(5), integers(5, dtype=kind, seed=3)]
    check(op, [a, number(0.03), zeros[0], b, *columns, number(1.1), zeros[2]], opset=opset)


def test_qlinear_matmul_rounds_ties_to_even() -> None:
    a, one, zero = np.array([[1], [3], [5], [7]], np.uint8), number(1.0), number(1, np.uint8)
    unit = [number(1.0), number(0, np.uint8)]
    check("QLinearMatMul", [a, *unit, np.array([[1]], np.uint8), *unit, number(2.0), zero], opset=10)
    check("QLinearMatMul", [a, one, zero, np.array([[255]], np.uint8), *unit, number(0.5), zero], opset=10)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("per_channel", [False, True])
def test_qlinear_conv(kind: type, per_channel: bool) -> None:
    x, w = integers(2, 4, 6, 7, dtype=kind), integers(6, 2, 3, 3, dtype=np.int8, seed=1)
    w_scale = scales(6) if per_channel else number(0.02)
    w_zero = np.zeros(6, np.int8) if per_channel else number(0, np.int8)
    bias = rng(5).integers(-5000, 5000, 6).astype(np.int32)
    operands: list[Array | None] = [x, number(0.05), number(17, kind), w, w_scale, w_zero, number(0.9), number(31, kind), bias]
    for options in ({"pads": [1, 0, 2, 1]}, {"strides": [2, 1], "auto_pad": "SAME_LOWER"}):
        check("QLinearConv", operands, opset=10, constants=[3, 4, 5, 8], group=2, **options)
        check("QLinearConv", operands[:8], opset=10, group=2, **options)


def test_qlinear_conv_with_channels_last() -> None:
    x, w = integers(2, 6, 7, 4), integers(6, 4, 3, 3, dtype=np.int8, seed=1)
    zero = number(17, np.uint8)
    operands = [x, number(0.05), zero, w, scales(6), np.zeros(6, np.int8), number(0.9), zero]
    ms("QLinearConv", operands, constants=[3, 4, 5], channels_last=1, pads=[1, 1, 1, 1])


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("shapes", [((2, 3, 50), (2, 3, 50)), ((2, 3, 5), (1, 5)), ((4,), (3, 1)), ((3, 4), ())])
def test_qlinear_binary(kind: type, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = integers(*shapes[0], dtype=kind), integers(*shapes[1], dtype=kind, seed=1)
    rest = [number(0.013), number(17, kind)]
    # ONNX Runtime adds with scales of 22 bits, which rounds apart where a sum is very near a tie.
    ms("QLinearAdd", [a, number(0.031), number(3, kind), b, *rest, number(0.05), number(9, kind)], steps=1)
    ms("QLinearMul", [a, number(0.031), number(3, kind), b, *rest, number(0.15), number(9, kind)])


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_qlinear_activations(kind: type) -> None:
    x = np.arange(256).astype(kind)
    ms("QLinearSigmoid", [x, number(0.04), number(100, kind), number(1 / 256), number(0, kind)])
    ms("QLinearLeakyRelu", [x, number(0.04), number(100, kind), number(0.03), number(50, kind)], alpha=0.2)


def test_zero_points_that_are_left_out_are_zero() -> None:
    a, b, zero = integers(2, 3), integers(3, seed=1), number(0, np.uint8)
    for op in ("QLinearAdd", "QLinearMul"):
        results = []
        for point in (None, zero):
            operands = [a, number(0.031), point, b, number(0.013), point, number(0.15), point]
            feeds = {f"x{index}": operand for index, operand in enumerate(operands) if operand is not None}
            results.append(run_jny(make_model(op, operands, opset=17, domain=MICROSOFT), feeds)["y0"])
        np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("opset", [12, 13])
@pytest.mark.parametrize("axis", [-1, 1])
def test_qlinear_softmax(opset: int, axis: int) -> None:
    x = integers(2, 6, 5)
    operands = [x, number(0.02), number(100, np.uint8), number(1 / 256), number(0, np.uint8)]
    attributes = {"axis": axis, "opset": opset}
    model = make_model("QLinearSoftmax", operands, opset=17, constants=[1, 2, 3, 4], attributes=attributes, domain=MICROSOFT)
    check_model(model, {"x0": x}, steps=1)


def test_qlinear_concat_and_where() -> None:
    target = [number(0.05), number(20, np.uint8)]
    a, b = integers(2, 3), integers(2, 4, seed=1)
    pieces = [a, number(0.04), number(7, np.uint8), b, *target]
    ms("QLinearConcat", [*target, *pieces], axis=1, constants=[0, 1, 3, 4, 6, 7])
    condition = rng().integers(0, 2, (2, 3)).astype(bool)
    source = [a, number(0.04), number(7, np.uint8)]
    other = [integers(3, seed=2), number(0.06), number(1, np.uint8)]
    ms("QLinearWhere", [condition, *source, *other, *target], constants=[2, 3, 5, 6, 7, 8])


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("last", [0, 1])
def test_qlinear_pools(kind: type, last: int) -> None:
    x = integers(2, 8, 9, 8, dtype=kind)
    operands = [x, number(0.04), number(100, kind), number(0.03), number(50, kind)]
    ms("QLinearGlobalAveragePool", operands, channels_last=last)
    for include in (0, 1):
        options = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1], "count_include_pad": include}
        ms("QLinearAveragePool", operands, channels_last=last, **options)
    ms("NhwcMaxPool", [x], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("per_column", [False, True])
def test_qgemm(kind: type, per_column: bool) -> None:
    a, b = integers(3, 40, dtype=kind), integers(40, 5, dtype=np.int8, seed=1)
    a_parameters = [number(0.03), number(9, kind)]
    b_parameters = [scales(5), np.zeros(5, np.int8)] if per_column else [number(0.02), number(0, np.int8)]
    c = rng(4).integers(-4000, 4000, 5).astype(np.int32)
    target = [number(0.4), number(30, kind)]
    ms("QGemm", [a, *a_parameters, b, *b_parameters, c, *target])
    ms("QGemm", [a, *a_parameters, b, *b_parameters, c], alpha=0.5)
    ms("QGemm", [a, *a_parameters, np.ascontiguousarray(b.T), *b_parameters, None, *target], transB=1)


def test_products_to_floats() -> None:
    a, b, bias = integers(2, 3, 40), integers(40, 5, dtype=np.int8, seed=1), floats(5)
    zeros = [number(9, np.uint8), np.zeros(5, np.int8)]
    ms("MatMulIntegerToFloat", [a, b, number(0.03), scales(5), *zeros, bias])
    ms("MatMulIntegerToFloat", [a, b, number(0.03), number(0.02)])
    real = floats(2, 3, 40)
    ms("DynamicQuantizeMatMul", [real, b, scales(5), np.zeros(5, np.int8), bias], constants=[1, 2, 3, 4])
    ms("DynamicQuantizeMatMul", [real, b, number(0.02)])


@pytest.mark.parametrize("x", [floats(3, 50), np.abs(floats(3, 50)), -np.abs(floats(50)), np.zeros(4, np.float32), floats(1)])
def test_dynamic_quantize_linear(x: Array) -> None:
    check("DynamicQuantizeLinear", [x], opset=11, outputs=3)


def test_qlinear_reduce_mean() -> None:
    """Against its definition: ONNX Runtime has it on few platforms."""
    x = integers(2, 3, 8)
    operands = [x, number(0.04), number(100, np.uint8), number(0.03), number(50, np.uint8)]
    attributes = {"axes": [1, 2], "keepdims": 1}
    model = make_model("QLinearReduceMean", operands, opset=17, domain=MICROSOFT, attributes=attributes)
    y = run_jny(model, {f"x{index}": operand for index, operand in enumerate(operands)})["y0"]
    mean = ((x.astype(np.float64) - 100) * 0.04).mean((1, 2), keepdims=True)
    np.testing.assert_array_equal(y, np.clip(np.rint(mean / 0.03) + 50, 0, 255).astype(np.uint8))
