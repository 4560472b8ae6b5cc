"""Ops as opsets 1 to 6 defined them, where later ones say the same in another way."""

from __future__ import annotations

from onnx import TensorProto

from ..ir import Value
from .elementwise import BINARY, cast_to
from .node import OnnxNode
from .registry import lowers

# Ops that took `broadcast` and `axis` before opset 7.
_BROADCASTING = ("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor")


@lowers(*_BROADCASTING)
def binary(node: OnnxNode) -> Value:
    a, b = node.operand(0), node.operand(1)
    if node.integer("broadcast") and node.has("axis"):
        b = _aligned(node, a, b, node.axis(node.integer("axis"), node.rank(a)))
    return node.emit(BINARY[node.op], [a, b])


@lowers("PRelu")
def prelu(node: OnnxNode) -> Value:
    """The slope was one number for all, or a list with one for each channel."""
    x, slope = node.operand(0), node.operand(1)
    if node.rank(slope) == 1 and node.rank(x) > 2 and node.shape(slope) != [1]:
        slope = _aligned(node, x, slope, 1)
    return node.emit("prelu", [x, slope])


def _aligned(node: OnnxNode, a: Value, b: Value, axis: int) -> Value:
    """b with axes of size 1 behind its own, so that those begin at `axis` of a."""
    rank = node.rank(b)
    missing = node.rank(a) - axis - rank
    if missing <= 0:
        return b
    return node.emit("unsqueeze", [b, node.int64s(list(range(rank, rank + missing)))])


@lowers("Cast")
def cast(node: OnnxNode) -> Value:
    """The type was given by its name."""
    name = node.text("to").upper()
    number = dict(TensorProto.DataType.items()).get(name)
    if number is None:
        raise node.invalid(f"'{name}' is no type")
    return cast_to(node, node.operand(0), int(number))


@lowers("Concat")
def concat(node: OnnxNode) -> Value:
    return node.emit("concat", node.operands, axis=node.integer("axis") if node.has("axis") else 1)


@lowers("Pad")
def pad(node: OnnxNode) -> Value:
    x, mode, value = node.operand(0), node.text("mode"), node.number("value")
    fill = node.constant(value, node.dtype(x)) if mode == "constant" and value != 0 else None
    return node.emit("pad", [x, node.int64s(node.integers("paddings") or []), fill], mode=mode)


@lowers("Reshape")
def reshape(node: OnnxNode) -> Value:
    return node.emit("reshape", [node.operand(0), node.int64s(node.integers("shape") or [])], allow_zero=0)


@lowers("Tile")
def tile(node: OnnxNode) -> Value:
    """Repeats along one axis."""
    x, tiles, given = node.operand(0), node.operand(1), node.operand(2).constant
    if given is None or given.size != 1:
        raise node.unsupported("an axis that is computed")
    rank = node.rank(x)
    axis = node.axis(int(given.reshape(-1)[0]), rank)
    count = node.emit("cast", [tiles], to=int(TensorProto.INT64), saturate=1)
    count = node.emit("reshape", [count, node.int64s([1])], allow_zero=0)
    repeats = node.emit("concat", [node.int64s([1] * axis), count, node.int64s([1] * (rank - axis - 1))], axis=0)
    return node.emit("tile", [x, repeats])
