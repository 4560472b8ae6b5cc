"""Ops that pick or place elements by index."""

from __future__ import annotations

from ..ir import Value
from .masks import positions, size_of_axis
from .node import OnnxNode
from .registry import lowers


@lowers("Gather")
def gather(node: OnnxNode) -> Value:
    return node.emit("gather", [node.operand(0), node.operand(1)], axis=node.integer("axis"))


@lowers("GatherElements")
def gather_elements(node: OnnxNode) -> Value:
    return node.emit("gather_elements", [node.operand(0), node.operand(1)], axis=node.integer("axis"))


@lowers("GatherND")
def gather_nd(node: OnnxNode) -> Value:
    batch_dims = node.integer("batch_dims") if node.has("batch_dims") else 0
    return node.emit("gather_nd", [node.operand(0), node.operand(1)], batch_dims=batch_dims)


# Scatter is the name that ScatterElements had before opset 11.
@lowers("Scatter", "ScatterElements")
def scatter_elements(node: OnnxNode) -> Value:
    operands = [node.operand(0), node.operand(1), node.operand(2)]
    return node.emit("scatter_elements", operands, axis=node.integer("axis"), reduction=_reduction(node))


@lowers("ScatterND")
def scatter_nd(node: OnnxNode) -> Value:
    return node.emit("scatter_nd", [node.operand(0), node.operand(1), node.operand(2)], reduction=_reduction(node))


def _reduction(node: OnnxNode) -> str:
    return node.text("reduction") if node.has("reduction") else "none"


@lowers("NonZero")
def non_zero(node: OnnxNode) -> Value:
    return node.emit("non_zero", [node.operand(0)])


@lowers("Compress")
def compress(node: OnnxNode) -> Value:
    x, axis = node.operand(0), 0
    if node.has("axis"):
        axis = node.integer("axis")
    else:
        x = node.emit("reshape", [x, node.int64s([-1])], allow_zero=0)
    # The condition may be longer than the axis, if there is nothing to select beyond its end.
    condition = node.emit("slice", [node.operand(1), node.int64s([0]), size_of_axis(node, x, axis)])
    chosen = node.emit("squeeze", [node.emit("non_zero", [condition]), node.int64s([0])])
    return node.emit("gather", [x, chosen], axis=axis)


@lowers("ReverseSequence")
def reverse_sequence(node: OnnxNode) -> Value:
    x, lengths = node.operand(0), node.operand(1)
    rank, batch_axis = node.rank(x), node.integer("batch_axis")
    if {batch_axis, node.integer("time_axis")} != {0, 1}:
        raise node.invalid(f"batch_axis is {batch_axis} and time_axis {node.integer('time_axis')}; one must be 0, the other 1")
    swap = [1, 0, *range(2, rank)]
    batches = x if batch_axis == 0 else node.emit("transpose", [x], perm=swap)
    y = reversed_up_to(node, batches, lengths)
    return y if batch_axis == 0 else node.emit("transpose", [y], perm=swap)


def reversed_up_to(node: OnnxNode, batches: Value, lengths: Value) -> Value:
    """Each sequence with its first steps, as many as its length (int64) says, backwards. The axes are batch, time and others."""
    time = positions(node, size_of_axis(node, batches, 1), 0)
    column = node.emit("unsqueeze", [lengths, node.int64s([1])])
    reversed_time = node.emit("sub", [node.emit("sub", [column, node.int64s(1)]), time])
    source = node.emit("where", [node.emit("less", [time, column]), reversed_time, time])
    return node.emit("gather_nd", [batches, node.emit("unsqueeze", [source, node.int64s([2])])], batch_dims=1)


@lowers("TensorScatter")
def tensor_scatter(node: OnnxNode) -> Value:
    cache, update, starts = node.operand(0), node.operand(1), node.input(2)
    rank = node.rank(cache)
    axis = node.axis(node.integer("axis"), rank)
    if axis == 0:
        raise node.invalid("axis is 0, which is the batch's")
    if node.text("mode") not in ("linear", "circular"):
        raise node.invalid(f"mode is '{node.text('mode')}', which is neither linear nor circular")
    targets = positions(node, size_of_axis(node, update, axis), rank - 1 - axis)
    if starts is not None:
        targets = node.emit("add", [node.emit("unsqueeze", [starts, node.int64s(list(range(1, rank)))]), targets])
    if node.text("mode") == "circular":
        targets = node.emit("mod", [targets, size_of_axis(node, cache, axis)], fmod=0)
    targets = node.emit("expand", [targets, node.emit("shape", [update], start=0)])
    return node.emit("scatter_elements", [cache, targets, update], axis=axis, reduction="none")
