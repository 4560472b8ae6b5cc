"""ONNX Runtime's quantised ops that are no products: decoded to float32, computed, and quantised again."""

from __future__ import annotations

import numpy as np

from ..ir import Value
from .foreign import MICROSOFT
from .integers import FLOAT, centred, multiplier, quantised, scaled
from .movement import channels_first, channels_last
from .node import OnnxNode
from .reduce import over_space
from .registry import lowers
from .sizes import product, size_of
from .window import average, maximum


def _decoded(node: OnnxNode, index: int) -> Value:
    """Operands `index` (the integers), + 1 (their scale) and + 2 (their zero point) as float32."""
    operands = [node.operand(index), node.operand(index + 1), node.input(index + 2)]
    return node.emit("dequantize", operands, axis=0, block=0, to=FLOAT, saturate=1)


def _encoded(node: OnnxNode, real: Value, index: int, dtype: int) -> Value:
    """The numbers quantised with the scale and zero point in operands `index` and `index` + 1."""
    operands = [real, node.operand(index), node.input(index + 1)]
    return node.emit("quantize", operands, axis=0, block=0, to=dtype, saturate=1)


@lowers("QLinearAdd", "QLinearMul", domain=MICROSOFT)
def qlinear_binary(node: OnnxNode) -> Value:
    if node.op == "QLinearAdd":
        real = node.emit("div", [node.emit("add", [_decoded(node, 0), _decoded(node, 3)]), node.operand(6)])
    else:
        factors = [centred(node, node.operand(index), node.input(index + 2)) for index in (0, 3)]
        real = scaled(node, node.emit("mul", factors), multiplier(node, node.operand(1), node.operand(4), node.operand(6)))
    zero = node.input(7)
    if zero is not None:  # added before the rounding, which tells where ties go
        real = node.emit("add", [real, node.emit("cast", [zero], to=FLOAT, saturate=1)])
    return quantised(node, real, None, node.dtype(node.operand(0)))


@lowers("QLinearSigmoid", "QLinearLeakyRelu", domain=MICROSOFT)
def qlinear_unary(node: OnnxNode) -> Value:
    x = _decoded(node, 0)
    y = node.emit("sigmoid", [x]) if node.op == "QLinearSigmoid" else node.emit("leaky_relu", [x], alpha=node.number("alpha"))
    return _encoded(node, y, 3, node.dtype(node.operand(0)))


@lowers("QLinearSoftmax", domain=MICROSOFT)
def qlinear_softmax(node: OnnxNode) -> Value:
    x, axis = _decoded(node, 0), node.integer("axis")
    if node.integer("opset") >= 13 or node.axis(axis, node.rank(x)) == node.rank(x) - 1:
        y = node.emit("softmax", [x], axis=axis)
    else:
        rows = node.emit("softmax", [node.emit("flatten", [x], axis=axis)], axis=1)
        y = node.emit("reshape", [rows, node.emit("shape", [x], start=0)], allow_zero=1)
    return _encoded(node, y, 3, node.dtype(node.operand(0)))


@lowers("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(node: OnnxNode) -> Value:
    if len(node.inputs) % 3 != 2:
        raise node.invalid(f"has {len(node.inputs)} operands; a scale, a zero point, and three for each tensor are wanted")
    dtype = node.dtype(node.operand(1))
    parts = [_rescaled(node, index, 0, dtype) for index in range(2, len(node.inputs), 3)]
    return node.emit("concat", parts, axis=node.integer("axis"))


@lowers("QLinearWhere", domain=MICROSOFT)
def qlinear_where(node: OnnxNode) -> Value:
    dtype = node.dtype(node.operand(1))
    return node.emit("where", [node.operand(0), _rescaled(node, 1, 7, dtype), _rescaled(node, 4, 7, dtype)])


def _rescaled(node: OnnxNode, index: int, target: int, dtype: int) -> Value:
    """Operand `index` with the scale and zero point of operands `target` and `target` + 1; as it is if it has those."""
    pairs = [(node.operand(index + 1 + place), node.operand(target + place)) for place in range(2)]
    same = [a is b or (a.constant is not None and b.constant is not None and _equal(a, b)) for a, b in pairs]
    return node.operand(index) if all(same) else _encoded(node, _decoded(node, index), target, dtype)


def _equal(a: Value, b: Value) -> bool:
    assert a.constant is not None and b.constant is not None
    return bool(a.constant.size == b.constant.size == 1 and np.array_equal(a.constant.reshape(-1), b.constant.reshape(-1)))


@lowers("QLinearReduceMean", domain=MICROSOFT)
def qlinear_reduce_mean(node: OnnxNode) -> Value:
    axes = node.int64s(node.integers("axes") or [])
    keep_dims = node.integer("keepdims")
    y = node.emit("reduce", [_decoded(node, 0), axes], kind="mean", keep_dims=keep_dims, noop_with_empty_axes=0)
    return _encoded(node, y, 3, node.dtype(node.operand(0)))


@lowers("QLinearAveragePool", domain=MICROSOFT)
def qlinear_average_pool(node: OnnxNode) -> Value:
    x, last = _decoded(node, 0), node.integer("channels_last") != 0
    y = average(node, channels_first(node, x) if last else x)
    return _encoded(node, channels_last(node, y) if last else y, 3, node.dtype(node.operand(0)))


@lowers("NhwcMaxPool", domain=MICROSOFT)
def max_pool_with_channels_last(node: OnnxNode) -> Value:
    y = maximum(node, channels_first(node, node.operand(0)))[0]
    assert y is not None
    return channels_last(node, y)


@lowers("QLinearGlobalAveragePool", domain=MICROSOFT)
def qlinear_global_average_pool(node: OnnxNode) -> Value:
    x, last = node.operand(0), node.integer("channels_last") != 0
    if last:
        x = channels_first(node, x)
    count = product(node, [size_of(node, x, axis) for axis in range(2, node.rank(x))])
    number = node.constant(count, FLOAT) if isinstance(count, int) else node.emit("cast", [count], to=FLOAT, saturate=1)
    sums = over_space(node, centred(node, x, node.operand(2)), "sum")
    factor = node.emit("div", [node.operand(1), node.emit("mul", [node.operand(3), number])])
    y = quantised(node, scaled(node, sums, factor), node.operand(4), node.dtype(x))
    return channels_last(node, y) if last else y
