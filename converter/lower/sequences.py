"""Sequences and optionals: lists of values while lowering, so that no list is left for run time."""

from __future__ import annotations

from typing import Final

from ..ir import Value
from .compound import Element, OptionalValue, SequenceValue, join, move_axis, rank_of, stack, tensor_run
from .loop_builder import known_integer
from .node import OnnxNode
from .registry import Result, lowers

_MOST_ITEMS: Final = 64
"""Splitting into single rows gives so many tensors at most; beyond, the rows stay in one."""


@lowers("SequenceConstruct")
def construct(node: OnnxNode) -> Result:
    return SequenceValue(node.label, node.dtype(node.operand(0)), items=[*node.operands])


@lowers("SequenceEmpty")
def empty(node: OnnxNode) -> Result:
    return SequenceValue(node.label, node.integer("dtype") if node.has("dtype") else 1)


@lowers("SequenceInsert")
def insert(node: OnnxNode) -> Result:
    sequence, tensor = _sequence(node), node.operand(1)
    if node.dtype(tensor) != sequence.dtype:
        raise node.invalid("inserts a tensor of another type than those in the sequence")
    if node.input(2) is None:
        return SequenceValue(node.label, sequence.dtype, items=[*sequence.items, tensor])
    listed = _fixed_items(node, sequence, "inserts at a given position of")
    position = _position(node, 2, len(listed), extra=1)
    return SequenceValue(node.label, sequence.dtype, items=[*listed[:position], tensor, *listed[position:]])


@lowers("SequenceErase")
def erase(node: OnnxNode) -> Result:
    sequence = _sequence(node)
    listed = _fixed_items(node, sequence, "erases from")
    position = len(listed) - 1 if node.input(1) is None else _position(node, 1, len(listed))
    if not listed:
        raise node.invalid("erases from an empty sequence")
    return SequenceValue(node.label, sequence.dtype, items=[*listed[:position], *listed[position + 1 :]])


@lowers("SequenceLength")
def length(node: OnnxNode) -> Result:
    listed = _sequence(node).listed()
    count = sum(isinstance(element, Value) for element in listed)
    if count == len(listed):
        return node.int64s(count)
    sizes = [node.int64s([count])] if count else []
    sizes += [node.emit("shape", [run.stacked()], start=0, end=1) for run in listed if not isinstance(run, Value)]
    total = sizes[0]
    for size in sizes[1:]:
        total = node.emit("add", [total, size])
    return node.emit("reshape", [total, node.int64s([])], allow_zero=0)


@lowers("SequenceAt")
def at(node: OnnxNode) -> Result:
    listed = _sequence(node).listed()
    position = known_integer(node.builder, node.operand(1))
    count = len(listed)
    if position is not None:
        ahead = position if position >= 0 else -1 - position
        ends = listed[: ahead + 1] if position >= 0 else listed[::-1][: ahead + 1]
        if len(ends) > ahead and all(isinstance(element, Value) for element in ends):
            element = ends[ahead]
            assert isinstance(element, Value)
            return element
        if all(isinstance(element, Value) for element in listed):
            raise node.invalid(f"reads position {position} of a sequence of {count} tensors")
    if not listed:
        raise node.invalid("reads from an empty sequence")
    index = node.emit("reshape", [node.operand(1), node.int64s([])], allow_zero=0)
    return node.emit("gather", [stack(node.builder, node.label, listed), index], axis=0)


@lowers("ConcatFromSequence")
def concat(node: OnnxNode) -> Result:
    listed = _sequence(node).listed()
    if not listed:
        raise node.invalid("joins an empty sequence")
    rank = rank_of(node.builder, listed)
    if rank is None:
        raise node.unsupported("the rank of the sequence's tensors cannot be told")
    if node.integer("new_axis"):
        stacked = stack(node.builder, node.label, listed)
        return move_axis(node.builder, node.label, stacked, rank + 1, 0, node.axis(node.integer("axis"), rank + 1))
    return join(node.builder, node.label, listed, node.axis(node.integer("axis"), rank))


@lowers("SplitToSequence")
def split(node: OnnxNode) -> Result:
    x, sizes = node.operand(0), node.input(1)
    if node.rank(x) == 0:
        raise node.invalid("splits a scalar")
    axis = node.axis(node.integer("axis"), node.rank(x))
    dtype = node.dtype(x)
    keep = bool(node.integer("keepdims")) or sizes is not None
    dim = (x.shape or [])[axis]
    if sizes is not None and node.rank(sizes) == 1:
        node.shape(sizes)
        count = (sizes.shape or [None])[0]
        if not isinstance(count, int):
            raise node.unsupported("into how many parts it splits is known at run time only")
        return SequenceValue(node.label, dtype, items=[*_parts(node, x, sizes, count, axis)])
    chunk = 1 if sizes is None else known_integer(node.builder, sizes)
    if chunk is None or (chunk != 1 and not isinstance(dim, int)):
        raise node.unsupported(
            "into how many parts it splits is known at run time only", "fix the size: --shape NAME=1,3,224,224"
        )
    if chunk < 1:
        raise node.invalid(f"splits into parts of {chunk}")
    if isinstance(dim, int) and -(-dim // chunk) <= _MOST_ITEMS:
        count = -(-dim // chunk)
        lengths = [min(chunk, dim - start * chunk) for start in range(count)]
        parts = _parts(node, x, node.int64s(lengths), count, axis)
        if not keep:
            parts = [node.emit("squeeze", [part, node.int64s([axis])]) for part in parts]
        return SequenceValue(node.label, dtype, items=[*parts])
    if chunk != 1:
        raise node.unsupported(f"splits into {-(-int(str(dim)) // chunk)} parts; at most {_MOST_ITEMS} are possible")
    rows = move_axis(node.builder, node.label, x, node.rank(x), axis, 0)
    if keep:
        rows = node.emit("unsqueeze", [rows, node.int64s([axis + 1])])
    return SequenceValue(node.label, dtype, items=[tensor_run(node.builder, node.label, rows)])


def _parts(node: OnnxNode, x: Value, sizes: Value, count: int, axis: int) -> list[Value]:
    if count == 0:
        return []
    return [part for part in node.emit_results("split", [x, sizes], [True] * count, axis=axis) if part is not None]


def _sequence(node: OnnxNode) -> SequenceValue:
    value = node.operand(0)
    if isinstance(value, OptionalValue) and value.element is not None:
        value = value.element
    if not isinstance(value, SequenceValue):
        raise node.invalid(f"operand 0, '{value.name}', is no sequence")
    return value


def _fixed_items(node: OnnxNode, sequence: SequenceValue, what: str) -> list[Element]:
    listed = sequence.listed()
    if not all(isinstance(element, Value) for element in listed):
        raise node.unsupported(f"{what} a sequence whose length is known at run time only")
    return listed


def _position(node: OnnxNode, operand: int, count: int, extra: int = 0) -> int:
    position = known_integer(node.builder, node.operand(operand))
    if position is None:
        raise node.unsupported("the position in a sequence is known at run time only")
    if not -count <= position < count + extra:
        raise node.invalid(f"position {position} is outside a sequence of {count} tensors")
    return position + count if position < 0 else position


@lowers("Optional")
def optional(node: OnnxNode) -> Result:
    value = node.input(0)
    return OptionalValue(node.label, 0 if value is None else value.dtype, element=value)


@lowers("OptionalHasElement")
def has_element(node: OnnxNode) -> Result:
    value = node.input(0)
    present = value is not None and (not isinstance(value, OptionalValue) or value.element is not None)
    return node.constant(present, 9)


@lowers("OptionalGetElement")
def get_element(node: OnnxNode) -> Result:
    value = node.operand(0)
    if not isinstance(value, OptionalValue):
        return value
    if value.element is None:
        raise node.invalid("reads an optional value that holds none")
    return value.element
