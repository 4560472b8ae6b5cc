"""Products of integers with 32-bit sums, and what they become when scales are applied: float numbers or integers again."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..ir import Value
from .foreign import MICROSOFT
from .movement import channels_first, channels_last
from .node import OnnxNode
from .registry import lowers
from .window import convolution

FLOAT, INT32 = int(TensorProto.FLOAT), int(TensorProto.INT32)


def cast(node: OnnxNode, x: Value, to: int) -> Value:
    """The value in another element type."""
    return x if node.dtype(x) == to else node.emit("cast", [x], to=to, saturate=1)


def one_element(node: OnnxNode, value: Value) -> bool:
    """Whether the value surely is one number."""
    shape = node.shape(value)
    return shape is not None and (len(shape) == 0 or list(shape) == [1])


def along(node: OnnxNode, parameter: Value, axis: int, rank: int) -> Value:
    """A scale or zero point given as a vector along `axis`, as it broadcasts with a tensor of that rank. Others pass."""
    if one_element(node, parameter) or node.rank(parameter) != 1 or axis == rank - 1:
        return parameter
    return node.emit("unsqueeze", [parameter, node.int64s(list(range(1, rank - axis)))])


def centred(node: OnnxNode, x: Value, zero: Value | None) -> Value:
    """x − zero in int32. The zero point broadcasts with x."""
    wide = cast(node, x, INT32)
    if zero is None or (zero.constant is not None and not zero.constant.astype(np.int32).any()):
        return wide
    if one_element(node, zero) and node.rank(zero) > node.rank(x):
        zero = node.emit("reshape", [zero, node.int64s([])], allow_zero=0)
    return node.emit("sub", [wide, cast(node, zero, INT32)])


def centred_product(node: OnnxNode, a: Value, b: Value, a_zero: Value | None, b_zero: Value | None) -> Value:
    """The matrix product of a and b less their zero points; vectors of those run along a's rows and b's columns."""
    if a_zero is not None:
        a_zero = along(node, a_zero, node.rank(a) - 2, node.rank(a))
    return node.emit("matmul", [centred(node, a, a_zero), centred(node, b, b_zero)], trans_a=0, trans_b=0)


def multiplier(node: OnnxNode, left: Value, right: Value, divisor: Value | None = None) -> Value:
    """left · right / divisor, rounded in each step as ONNX Runtime does, in float32."""
    factor = node.emit("mul", [left, right])
    if divisor is not None:
        factor = node.emit("div", [factor, divisor])
    return cast(node, factor, FLOAT)


def scaled(node: OnnxNode, sums: Value, factor: Value) -> Value:
    """The 32-bit sums times a factor that broadcasts, as float32."""
    return node.emit("mul", [cast(node, sums, FLOAT), factor])


def quantised(node: OnnxNode, real: Value, zero: Value | None, dtype: int) -> Value:
    """real rounded half to even, plus the zero point, saturated to the dtype."""
    one = node.constant(1.0, FLOAT)
    if zero is not None and not one_element(node, zero):
        real = node.emit("add", [node.emit("round", [real]), cast(node, zero, FLOAT)])
        zero = None
    return node.emit("quantize", [real, one, zero], axis=0, block=0, to=dtype, saturate=1)


@lowers("MatMulInteger")
def matmul_integer(node: OnnxNode) -> Value:
    return centred_product(node, node.operand(0), node.operand(1), node.input(2), node.input(3))


@lowers("QLinearMatMul")
def qlinear_matmul(node: OnnxNode) -> Value:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = node.operands
    sums = centred_product(node, a, b, a_zero, b_zero)
    rank = node.rank(a)
    a_scale, y_scale, y_zero = (along(node, each, rank - 2, rank) for each in (a_scale, y_scale, y_zero))
    return quantised(node, scaled(node, sums, multiplier(node, a_scale, b_scale, y_scale)), y_zero, node.dtype(y_zero))


@lowers("ConvInteger")
def conv_integer(node: OnnxNode) -> Value:
    x, w = node.operand(0), node.operand(1)
    return convolution(node, centred(node, x, node.input(2)), _centred_filter(node, w, node.input(3)), None)


@lowers("QLinearConv")
@lowers("QLinearConv", domain=MICROSOFT)
def qlinear_conv(node: OnnxNode) -> Value:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (node.operand(index) for index in range(8))
    rank = node.rank(x)
    last = node.has("channels_last") and node.integer("channels_last") != 0
    if last:
        x = channels_first(node, x)
    sums = convolution(node, centred(node, x, x_zero), _centred_filter(node, w, w_zero), node.input(8))
    factor = along(node, multiplier(node, x_scale, w_scale, y_scale), 1, rank)
    y = quantised(node, scaled(node, sums, factor), y_zero, node.dtype(y_zero))
    return channels_last(node, y) if last else y


def _centred_filter(node: OnnxNode, w: Value, zero: Value | None) -> Value:
    return centred(node, w, None if zero is None else along(node, zero, 0, node.rank(w)))


@lowers("QGemm", domain=MICROSOFT)
def qgemm(node: OnnxNode) -> Value:
    a, a_scale, a_zero, b, b_scale, b_zero = (node.operand(index) for index in range(6))
    if node.integer("transA"):
        a = node.emit("transpose", [a], perm=[1, 0])
    if node.integer("transB"):
        b = node.emit("transpose", [b], perm=[1, 0])
    sums, c = centred_product(node, a, b, a_zero, b_zero), node.input(6)
    if c is not None:
        sums = node.emit("add", [sums, c])
    alpha = node.constant(node.number("alpha"), FLOAT)
    factor = multiplier(node, node.emit("mul", [alpha, a_scale]), b_scale, node.input(7))
    y = scaled(node, sums, factor)
    zero = node.input(8)
    return y if zero is None else quantised(node, y, zero, node.dtype(zero))


@lowers("MatMulIntegerToFloat", domain=MICROSOFT)
def matmul_integer_to_float(node: OnnxNode) -> Value:
    a, b, a_scale, b_scale = (node.operand(index) for index in range(4))
    a_scale = along(node, a_scale, node.rank(a) - 2, node.rank(a))
    return _to_float(node, a, b, multiplier(node, a_scale, b_scale), node.input(4), node.input(5), node.input(6))


@lowers("DynamicQuantizeMatMul", domain=MICROSOFT)
def dynamic_quantize_matmul(node: OnnxNode) -> Value:
    a, scale, zero = dynamically_quantised(node, node.operand(0))
    factor = multiplier(node, scale, node.operand(2))
    return _to_float(node, a, node.operand(1), factor, zero, node.input(3), node.input(4))


def _to_float(
    node: OnnxNode, a: Value, b: Value, factor: Value, a_zero: Value | None, b_zero: Value | None, bias: Value | None
) -> Value:
    y = scaled(node, centred_product(node, a, b, a_zero, b_zero), factor)
    return y if bias is None else node.emit("add", [y, bias])


@lowers("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: OnnxNode) -> list[Value | None]:
    return [*dynamically_quantised(node, node.operand(0))]


def dynamically_quantised(node: OnnxNode, x: Value, in_range: Value | None = None) -> tuple[Value, Value, Value]:
    """x as uint8, the scale and the zero point that its range (0 included), or the one of `in_range`, asks for."""
    zero = node.constant(0.0, FLOAT)
    ends = [
        node.emit(kind, [zero, node.emit("reduce", [in_range or x], kind=kind, keep_dims=0, noop_with_empty_axes=0)])
        for kind in ("min", "max")
    ]
    width = node.emit("sub", [ends[1], ends[0]])
    steps = node.constant(255.0, FLOAT)
    # Where all numbers are 0, any scale will do: 1 is taken.
    scale = node.emit("div", [node.emit("where", [node.emit("equal", [width, zero]), steps, width]), steps])
    offset = node.emit("sub", [zero, node.emit("div", [ends[0], scale])])
    unit = node.constant(1.0, FLOAT)
    zero_point = node.emit("quantize", [offset, unit], axis=0, block=0, to=int(TensorProto.UINT8), saturate=1)
    y = node.emit("quantize", [x, scale, zero_point], axis=0, block=0, to=int(TensorProto.UINT8), saturate=1)
    return y, scale, zero_point
