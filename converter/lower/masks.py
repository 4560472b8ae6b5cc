"""Ops that are comparisons of positions: one-hot tensors, identity matrices, triangles."""

from __future__ import annotations

from onnx import TensorProto

from ..ir import Value
from .foreign import MICROSOFT
from .node import OnnxNode
from .registry import lowers

_SIGNED = (TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64)
_FLOATS = (TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE)
_FAR = 1 << 40
"""Diagonals further off than any matrix is wide."""


@lowers("OneHot")
def one_hot(node: OnnxNode) -> Value:
    indices, values = node.operand(0), node.operand(2)
    rank = node.rank(indices)
    axis = node.axis(node.integer("axis"), rank + 1)
    # Before opset 11, negative indices were as far outside as those that are too large.
    wraps = node.since >= 11 and node.dtype(indices) in (*_SIGNED, *_FLOATS)
    indices, depth = as_int64(node, indices), scalar(node, as_int64(node, node.operand(1)))
    if wraps:
        negative = node.emit("less", [indices, node.int64s(0)])
        indices = node.emit("where", [negative, node.emit("add", [indices, depth]), indices])
    hot = node.emit("equal", [node.emit("unsqueeze", [indices, node.int64s([axis])]), positions(node, depth, rank - axis)])
    off, on = (node.emit("gather", [values, node.int64s(index)], axis=0) for index in (0, 1))
    return node.emit("where", [hot, on, off])


@lowers("Hardmax", since=1)
def hardmax_of_rows(node: OnnxNode) -> Value:
    """Before opset 13, all axes from `axis` on count as one."""
    x = node.operand(0)
    rows = node.emit("flatten", [x], axis=node.integer("axis"))
    return node.emit("reshape", [_hardmax(node, rows, 1, 2), node.emit("shape", [x], start=0)], allow_zero=1)


@lowers("Hardmax", since=13)
def hardmax(node: OnnxNode) -> Value:
    x = node.operand(0)
    rank = node.rank(x)
    return _hardmax(node, x, node.axis(node.integer("axis"), rank), rank)


def _hardmax(node: OnnxNode, x: Value, axis: int, rank: int) -> Value:
    largest = node.emit("arg_reduce", [x], kind="max", axis=axis, keep_dims=1, select_last=0, allow_empty=1)
    hot = node.emit("equal", [largest, positions(node, size_of_axis(node, x, axis), rank - 1 - axis)])
    return node.emit("cast", [hot], to=node.dtype(x), saturate=1)


@lowers("EyeLike")
def eye_like(node: OnnxNode) -> Value:
    x = node.operand(0)
    rank = node.rank(x)
    if rank != 2:
        raise node.invalid(f"the operand has rank {rank}; a matrix is wanted")
    diagonal = node.emit("add", [positions(node, size_of_axis(node, x, 0), 1), node.int64s(_clamped(node.integer("k")))])
    hot = node.emit("equal", [diagonal, positions(node, size_of_axis(node, x, 1), 0)])
    return node.emit("cast", [hot], to=node.integer("dtype") if node.has("dtype") else node.dtype(x), saturate=1)


@lowers("Trilu")
@lowers("Trilu", domain=MICROSOFT)
def trilu(node: OnnxNode) -> Value:
    x, k = node.operand(0), node.input(1)
    diagonal = positions(node, size_of_axis(node, x, -2), 1)
    if k is not None:
        bounded = node.emit("clip", [scalar(node, as_int64(node, k)), node.int64s(-_FAR), node.int64s(_FAR)])
        diagonal = node.emit("add", [diagonal, bounded])
    kept = node.emit(
        "less_equal" if node.integer("upper") else "greater_equal", [diagonal, positions(node, size_of_axis(node, x, -1), 0)]
    )
    return node.emit("where", [kept, x, node.constant(0, node.dtype(x))])


def positions(node: OnnxNode, count: Value, trailing: int) -> Value:
    """0, 1, … count - 1, followed by `trailing` axes of size 1 for broadcasting."""
    counted = node.emit("range", [node.int64s(0), count, node.int64s(1)])
    return node.emit("unsqueeze", [counted, node.int64s(list(range(1, trailing + 1)))]) if trailing else counted


def size_of_axis(node: OnnxNode, x: Value, axis: int) -> Value:
    """The size of one axis, an int64 tensor of one element; negative axes count from the end."""
    return node.emit("shape", [x], start=axis) if axis == -1 else node.emit("shape", [x], start=axis, end=axis + 1)


def as_int64(node: OnnxNode, x: Value) -> Value:
    """The operand as int64, fractions dropped."""
    return x if node.dtype(x) == TensorProto.INT64 else node.emit("cast", [x], to=int(TensorProto.INT64), saturate=1)


def scalar(node: OnnxNode, x: Value) -> Value:
    """An operand of one element as a scalar, which never adds an axis to what it is broadcast with."""
    shape = node.shape(x)
    return x if shape is not None and len(shape) == 0 else node.emit("reshape", [x, node.int64s([])], allow_zero=0)


def _clamped(k: int) -> int:
    return max(-_FAR, min(_FAR, k))
