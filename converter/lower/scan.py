"""Scan: a loop that captures what it scans and takes a slice of it in each iteration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import Value
from .graph import GraphBuilder, Poison
from .loop_builder import Body, build_loop, check_body, lower_body, true
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

    def build(inner: GraphBuilder, number: Value, carried: list[Value]) -> Body:
        slices = []
        for x, axis, reverse in zip(scanned, axes, backward, strict=True):
            # Indices below 0 count from the end: ~i is -1 - i.
            index = inner.emit(f"{node.label}/index", "bitwise_not", [number]) if reverse else number
            slices.append(inner.emit(f"{node.label}/slice", "gather", [inner.capture(x), index], axis=axis))
        results = lower_body(node, inner, body, [*carried, *slices])
        return Body(true(inner, node.label), results[:states], results[states:])

    trips = _common_length(node, [(x, axis) for x, axis in zip(scanned, axes, strict=True)])
    results = build_loop(node, node.builder, node.label, (trips, None), node.operands[:states], build)
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
    axis = node.axis(axis, rank)
    perm = [*range(1, rank)]
    perm.insert(axis, 0)
    return stacked if axis == 0 else node.emit("transpose", [stacked], perm=perm)


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

    def each(outer: GraphBuilder, row: Value, _: list[Value]) -> Body:
        rows = [outer.emit(f"{label}/row", "gather", [outer.capture(x), row], axis=0) for x in operands]
        length = outer.capture(longest)
        whole = length
        if lengths is not None:
            own = outer.emit(f"{label}/length", "gather", [outer.capture(lengths), row], axis=0)
            length = outer.emit(f"{label}/length", "reshape", [own, node.int64s([1])], allow_zero=0)

        def step(inner: GraphBuilder, number: Value, carried: list[Value]) -> Body:
            slices = []
            for x, reverse in zip(rows[states:], backward, strict=True):
                index = number
                if reverse:
                    scalar = inner.emit(f"{label}/length", "reshape", [inner.capture(length), node.int64s([])], allow_zero=0)
                    left = inner.emit(f"{label}/left", "sub", [scalar, number])
                    index = inner.emit(f"{label}/index", "sub", [left, node.int64s(1)])
                slices.append(inner.emit(f"{label}/slice", "gather", [inner.capture(x), index], axis=0))
            results = lower_body(node, inner, body, [*carried, *slices])
            return Body(true(inner, label), results[:states], results[states:])

        results = build_loop(node, outer, f"{label}/row", (length, None), rows[:states], step)
        if any(isinstance(result, Poison) for result in results):
            return Body(true(outer, label), [], results)
        if lengths is not None:
            missing = outer.emit(f"{label}/missing", "sub", [whole, length])
            results[states:] = [_padded(node, outer, result, missing) for result in results[states:]]
        return Body(true(outer, label), [], results)

    return build_loop(node, node.builder, label, (batch, None), [], each)


def _padded(node: OnnxNode, outer: GraphBuilder, rows: Value, missing: Value) -> Value:
    """As many rows of zeros behind the others as are missing."""
    outer.types.settle(rows)
    pads = outer.emit(f"{node.label}/pads", "concat", [node.int64s([0]), missing], axis=0)
    return outer.emit(f"{node.label}/pad", "pad", [rows, pads, None, node.int64s([0])], mode="constant")
