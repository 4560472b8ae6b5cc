"""Sequences and optionals while a model is lowered: lists of tensors, which no longer exist once it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from onnx import TensorProto

from ..ir import Value, constant

if TYPE_CHECKING:
    from .graph import GraphBuilder

_INT64 = int(TensorProto.INT64)


@dataclass(eq=False)
class Run:
    """Elements of a sequence, as many as turns out at run time, that can be had as one tensor."""

    rank: Callable[[], int | None]
    """That of an element, if known."""
    stacked: Callable[[], Value]
    """All elements along a new first axis."""
    joined: Callable[[int], Value]
    """All elements one after another along an axis of theirs."""


@dataclass(eq=False)
class CarriedHead:
    """What a sequence that a loop carries holds when the body starts. As long as nobody reads it, the body may append to it."""

    expand: Callable[[], list[Element]]
    """What it holds, if the loop leaves it as it is."""
    outer: CarriedHead | None = None
    """The same in the graph around a branch."""
    was_read: bool = False


Element: TypeAlias = "Value | Run"
Item: TypeAlias = "Value | Run | CarriedHead"


@dataclass(eq=False)
class SequenceValue(Value):
    """A list of tensors of one dtype."""

    items: list[Item] = field(default_factory=list)

    def listed(self) -> list[Element]:
        """The items, what a loop carries included."""
        return [element for item in self.items for element in (read(item) if isinstance(item, CarriedHead) else [item])]


@dataclass(eq=False)
class OptionalValue(Value):
    """A value, or none."""

    element: Value | None = None


def read(head: CarriedHead) -> list[Element]:
    """What a carried sequence holds at the start of each iteration; then the body cannot append to it too."""
    head.was_read = True
    return head.expand()


def tensor_run(builder: GraphBuilder, label: str, tensor: Value) -> Run:
    """Elements that lie in a tensor already, along its first axis."""

    def rank() -> int | None:
        builder.types.settle(tensor)
        return None if tensor.shape is None else len(tensor.shape) - 1

    def joined(axis: int) -> Value:
        moved = move_axis(builder, label, tensor, (rank() or 0) + 1, 0, axis)
        return merge_axes(builder, label, moved, axis)

    return Run(rank, lambda: tensor, joined)


def capture_compound(builder: GraphBuilder, outer: SequenceValue | OptionalValue) -> Value:
    """What stands for a sequence or an optional of the graph around this one."""
    if isinstance(outer, OptionalValue):
        element = None if outer.element is None else builder.capture(outer.element)
        return OptionalValue(outer.name, outer.dtype, element=element)
    return SequenceValue(outer.name, outer.dtype, items=[_capture_item(builder, item) for item in outer.items])


def _capture_item(builder: GraphBuilder, item: Item) -> Item:
    if isinstance(item, CarriedHead):
        return CarriedHead(lambda: [_capture_element(builder, element) for element in read(item)], item)
    return _capture_element(builder, item)


def _capture_element(builder: GraphBuilder, element: Element) -> Element:
    if isinstance(element, Value):
        return builder.capture(element)
    return Run(
        element.rank,
        lambda: builder.capture(element.stacked()),
        lambda axis: builder.capture(element.joined(axis)),
    )


def rank_of(builder: GraphBuilder, items: Sequence[Element]) -> int | None:
    """The rank of the elements, where that of any is known."""
    for item in items:
        if isinstance(item, Run):
            rank = item.rank()
        else:
            builder.types.settle(item)
            rank = None if item.shape is None else len(item.shape)
        if rank is not None:
            return rank
    return None


def stack(builder: GraphBuilder, label: str, items: Sequence[Element]) -> Value:
    """All elements along a new first axis."""
    zero = int64s(builder, label, [0])
    parts = [
        item.stacked() if isinstance(item, Run) else builder.emit(f"{label}/unsqueeze", "unsqueeze", [item, zero])
        for item in items
    ]
    return parts[0] if len(parts) == 1 else builder.emit(f"{label}/concat", "concat", parts, axis=0)


def join(builder: GraphBuilder, label: str, items: Sequence[Element], axis: int) -> Value:
    """All elements one after another along an axis of theirs."""
    parts = [item.joined(axis) if isinstance(item, Run) else item for item in items]
    return parts[0] if len(parts) == 1 else builder.emit(f"{label}/concat", "concat", parts, axis=axis)


def move_axis(builder: GraphBuilder, label: str, value: Value, rank: int, source: int, target: int) -> Value:
    """The tensor with one axis at another place."""
    if source == target:
        return value
    perm = [axis for axis in range(rank) if axis != source]
    perm.insert(target, source)
    return builder.emit(f"{label}/transpose", "transpose", [value], perm=perm)


def merge_axes(builder: GraphBuilder, label: str, value: Value, axis: int) -> Value:
    """Makes one axis of `axis` and the one that follows. -1 would not do, as sizes may be 0."""

    def sizes(start: int, **end: int) -> Value:
        return builder.emit(f"{label}/shape", "shape", [value], start=start, **end)

    merged = builder.emit(f"{label}/size", "mul", [sizes(axis, end=axis + 1), sizes(axis + 1, end=axis + 2)])
    parts = [*([sizes(0, end=axis)] if axis else []), merged, sizes(axis + 2)]
    target = builder.emit(f"{label}/sizes", "concat", parts, axis=0)
    return builder.emit(f"{label}/reshape", "reshape", [value, target], allow_zero=1)


def int64s(builder: GraphBuilder, label: str, numbers: Sequence[int] | int) -> Value:
    """An int64 constant: 1-D from a list, a scalar from a number."""
    return constant(builder.context.fresh(f"{label}/constant"), np.asarray(numbers, np.int64), _INT64)
