"""Scan: a loop that captures what it scans and takes a slice of it in each iteration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import Value
from .compound import move_axis
from .context import Poison, Scope
from .loop_builder import Body, Frame, Inside, build_loop, check_body, true
from .node import OnnxNode
from .registry import Result, lowers


@lowers("Scan", since=9)
def scan(node: OnnxNode) -> Result:
    body = node.graph("body")
    count = node.integer("num_scan_inputs")
    states = len(node.inputs) - count
    if count < 1 or states < 0:
        raise node.invalid(f"cannot scan {count} of its {len(node.inputs)} operands")
    check_body(node, body, len(node.inputs), states)
    scanned = node.operands[states:]
    outputs = len(body.output) - states
    axes = [node.axis(axis, node.rank(x)) for axis, x in zip(_listed(node, "scan_input_axes", count), scanned, strict=True)]
    backward = _listed(node, "scan_input_directions", count)

    def build(inside: Inside) -> Body:
        inner, slices = inside.builder, []
        for x, axis, reverse in zip(scanned, axes, backward, strict=True):
            # Indices below 0 count from the end: ~i is -1 - i.
            index = inner.emit(f"{node.label}/index", "bitwise_not", [inside.number]) if reverse else inside.number
            slices.append(inner.emit(f"{node.label}/slice", "gather", [inside.take(x), index], axis=axis))
        results = inside.lower(node, body, [*inside.carried, *slices])
        return Body(true(inner, node.label), results[:states], results[states:])

    trips = _common_length(node, [(x, axis) for x, axis in zip(scanned, axes, strict=True)])
    frame = Frame(node, node.builder, node.scope, node.label, trips, None, node.operands[:states], body, False)
    results = build_loop(frame, build)
    out_axes, out_backward = _listed(node, "scan_output_axes", outputs), _listed(node, "scan_output_directions", outputs)
    for index in range(states, min(len(results), node.output_count)):
        if not isinstance(results[index], Poison):
            results[index] = _arranged(node, results[index], out_axes[index - states], out_backward[index - states])
    return results


def _listed(node: OnnxNode, name: str, count: int) -> list[int]:
    numbers = node.integers(name)
    if not numbers:
        return [0] * count
    if len(numbers) != count:
        raise node.invalid(f"'{name}' has {len(numbers)} numbers, but there are {count}")
    return numbers


def _common_length(node: OnnxNode, scanned: Sequence[tuple[Value, int]]) -> Value:
    """The size of the axes that are scanned together."""
    sizes = {(value.shape or [])[axis] for value, axis in scanned if value.shape is not None}
    known = sorted(size for size in sizes if isinstance(size, int))
    if len(known) > 1:
        raise node.invalid(f"scans inputs of the different lengths {known[0]} and {known[-1]} together")
    value, axis = scanned[0]
    return node.emit("shape", [value], start=axis, end=axis + 1)


def _arranged(node: OnnxNode, stacked: Value, axis: int, reverse: int) -> Value:
    """What was gathered along axis 0, turned round if need be, with the axis where it shall be."""
    if reverse:
        ends = node.int64s([int(np.iinfo(np.int64).min)])
        stacked = node.emit("slice", [stacked, node.int64s([-1]), ends, node.int64s([0]), node.int64s([-1])])
    if axis == 0:
        return stacked
    rank = node.rank(stacked)
    return move_axis(node.builder, node.label, stacked, rank, 0, node.axis(axis, rank))


@lowers("Scan", since=8)
def scan_batches(node: OnnxNode) -> Result:
    """Scan as it was at first: operands have a batch axis, and each of the batch its own length."""
    body = node.graph("body")
    count = node.integer("num_scan_inputs")
    lengths = node.input(0)
    operands = [node.operand(index) for index in range(1, len(node.inputs))]
    states = len(operands) - count
    if count < 1 or states < 0:
        raise node.invalid(f"cannot scan {count} of its {len(operands)} operands")
    check_body(node, body, len(operands), states)
    backward = _listed(node, "directions", count)
    label = node.label
    batch = node.emit("shape", [operands[0]], start=0, end=1)
    longest = _common_length(node, [(x, 1) for x in operands[states:]])

    def each(around: Inside) -> Body:
        outer = around.builder
        rows = [outer.emit(f"{label}/row", "gather", [around.take(x), around.number], axis=0) for x in operands]
        length = whole = around.take(longest)
        if lengths is not None:
            own = outer.emit(f"{label}/length", "gather", [around.take(lengths), around.number], axis=0)
            length = outer.emit(f"{label}/length", "reshape", [own, node.int64s([1])], allow_zero=0)

        def step(inside: Inside) -> Body:
            inner, slices = inside.builder, []
            for x, reverse in zip(rows[states:], backward, strict=True):
                index = inside.number
                if reverse:
                    scalar = inner.emit(f"{label}/length", "reshape", [inside.take(length), node.int64s([])], allow_zero=0)
                    left = inner.emit(f"{label}/left", "sub", [scalar, index])
                    index = inner.emit(f"{label}/index", "sub", [left, node.int64s(1)])
                slices.append(inner.emit(f"{label}/slice", "gather", [inside.take(x), index], axis=0))
            results = inside.lower(node, body, [*inside.carried, *slices])
            return Body(true(inner, label), results[:states], results[states:])

        # What the row's builder does not know by name, it captures.
        scope = Scope(node.scope.opsets, {}, node.scope.attributes, around.outer is not None, around.outer)
        results = build_loop(Frame(node, outer, scope, f"{label}/row", length, None, rows[:states], body, False), step)
        if any(isinstance(result, Poison) for result in results):
            return Body(true(outer, label), [], results)
        if lengths is not None:
            missing = outer.emit(f"{label}/missing", "sub", [whole, length])
            results[states:] = [_padded(node, around, result, missing) for result in results[states:]]
        return Body(true(outer, label), [], results)

    return build_loop(Frame(node, node.builder, node.scope, label, batch, None, [], body, False), each)


def _padded(node: OnnxNode, around: Inside, rows: Value, missing: Value) -> Value:
    """As many rows of zeros behind the others as are missing."""
    outer = around.builder
    pads = outer.emit(f"{node.label}/pads", "concat", [node.int64s([0]), missing], axis=0)
    return outer.emit(f"{node.label}/pad", "pad", [rows, pads, None, node.int64s([0])], mode="constant")
