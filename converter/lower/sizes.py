"""Sizes as operands of reshape, expand and the like: numbers where they are known, else read from the tensors at run time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ..ir import Value
from .node import OnnxNode

Size: TypeAlias = "int | Value"
"""A number, or an int64 vector of one element."""


def size_of(node: OnnxNode, value: Value, axis: int) -> Size:
    """The size of one axis, counted from the front."""
    shape = node.shape(value)
    if shape is not None and axis >= len(shape):
        raise node.invalid(f"'{value.name}' has {len(shape)} dimensions; {axis + 1} or more are wanted")
    known = shape[axis] if shape is not None else None
    if isinstance(known, int) and (value.is_constant or node.builder.context.sizes_are_final):
        return known
    return node.emit("shape", [value], start=axis, end=axis + 1)


def product(node: OnnxNode, sizes: Sequence[Size]) -> Size:
    """All sizes multiplied; 1 if there are none."""
    number, computed = 1, None
    for size in sizes:
        if isinstance(size, int):
            number *= size
        else:
            computed = size if computed is None else node.emit("mul", [computed, size])
    if computed is None or number == 0:
        return number
    return computed if number == 1 else node.emit("mul", [computed, node.int64s([number])])


def vector(node: OnnxNode, sizes: Sequence[Size]) -> Value:
    """The sizes as one int64 vector."""
    numbers = [size for size in sizes if isinstance(size, int)]
    if len(numbers) == len(sizes):
        return node.int64s(numbers)
    if len(sizes) == 1 and isinstance(sizes[0], Value):
        return sizes[0]
    return node.emit("concat", [node.int64s([size]) if isinstance(size, int) else size for size in sizes], axis=0)


def scalar(node: OnnxNode, size: Size) -> Value:
    """The size as an int64 scalar."""
    return node.int64s(size) if isinstance(size, int) else node.emit("reshape", [size, node.int64s([])], allow_zero=0)


def reshape(node: OnnxNode, x: Value, sizes: Sequence[Size]) -> Value:
    """The tensor in this shape, in which 0 means 0."""
    return node.emit("reshape", [x, vector(node, sizes)], allow_zero=1)


def transpose(node: OnnxNode, x: Value, perm: Sequence[int]) -> Value:
    """The tensor with its axes in this order."""
    return x if list(perm) == list(range(len(perm))) else node.emit("transpose", [x], perm=list(perm))
