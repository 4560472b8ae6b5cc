"""Ops that pick or place elements by index."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..draw import WIDE, Draw
from .registry import rule


def _indices(d: Draw, size: int, shape: Sequence[int], *, negative: bool = True) -> None:
    """Indices into an axis of this size."""
    count = math.prod(shape)
    d.need(size > 0 or not count)
    low = -size if negative and d.opset >= 11 and d.chance(0.5) else 0
    d.listed([d.integer(low, size - 1) for _ in range(count)], dtype=d.index_dtype(), shape=shape)


@rule("Gather")
def gather(d: Draw) -> None:
    shape = d.shape(1)
    d.operand(shape, allowed=WIDE)
    axis = d.axis(len(shape)) if d.chance(0.7) else 0
    d.attribute("axis", axis)
    _indices(d, shape[axis], d.any_shape(0, 2))


@rule("GatherElements")
def gather_elements(d: Draw) -> None:
    shape = d.shape(1)
    d.operand(shape, allowed=WIDE)
    axis = d.axis(len(shape))
    d.attribute("axis", axis)
    picked = [d.integer(0 if d.chance(0.1) else min(1, size), size) for size in shape]
    picked[axis] = d.integer(1, 6)
    _indices(d, shape[axis], picked)


def _tuples(d: Draw, shape: Sequence[int], batch: Sequence[int], inner: Sequence[int], depth: int) -> list[int]:
    outer = [*batch, *inner]
    values = []
    for _ in range(math.prod(outer)):
        for axis in range(depth):
            size = shape[len(batch) + axis]
            d.need(size > 0)
            values.append(d.integer(-size if d.chance(0.3) else 0, size - 1))
    return values


@rule("GatherND")
def gather_nd(d: Draw) -> None:
    shape = d.shape(1)
    d.operand(shape, allowed=WIDE)
    batch = d.integer(0, min(2, len(shape) - 1)) if d.has("batch_dims") else 0
    if d.has("batch_dims"):
        d.attribute("batch_dims", batch)
    depth = d.integer(1, len(shape) - batch)
    inner = [d.integer(1, 3) for _ in range(d.integer(0, 2))]
    values = _tuples(d, shape, shape[:batch], inner, depth)
    d.listed(values, shape=[*shape[:batch], *inner, depth])


@rule("ScatterND")
def scatter_nd(d: Draw) -> None:
    shape = d.shape(1)
    dtype = d.operand(shape, allowed=WIDE)
    depth = d.integer(1, len(shape))
    reduction = d.maybe("reduction", ["none", "add", "mul"] + (["max", "min"] if d.since >= 18 else [])) or "none"
    d.loose = reduction == "add"  # numbers that are added may nearly cancel each other
    outer = [d.integer(1, 3) for _ in range(d.integer(0, 2))]
    places = math.prod(shape[:depth])
    count = math.prod(outer)
    d.need(places > 0 and not (dtype == "BOOL" and reduction != "none"))
    if reduction == "none":
        d.need(count <= places)
        chosen = d.sample(range(places), count)
    else:
        chosen = [d.integer(0, places - 1) for _ in range(count)]
    values: list[int] = []
    for place in chosen:
        entry = []
        for size in reversed(shape[:depth]):
            place, index = divmod(place, size)
            entry.append(index - size if d.chance(0.3) and d.opset >= 11 else index)
        values += reversed(entry)
    d.listed(values, shape=[*outer, depth])
    d.operand([*outer, *shape[depth:]], dtype=dtype)


@rule("Scatter", "ScatterElements")
def scatter_elements(d: Draw) -> None:
    shape = d.shape(1)
    dtype = d.operand(shape, allowed=WIDE)
    axis = d.axis(len(shape))
    d.attribute("axis", axis)
    size = shape[axis]
    reduction = d.maybe("reduction", ["none", "add", "mul"] + (["max", "min"] if d.since >= 18 else [])) or "none"
    d.loose = reduction == "add"  # numbers that are added may nearly cancel each other
    d.need(size > 0 and not (dtype == "BOOL" and reduction != "none"))
    placed = [d.integer(min(1, length), length) for length in shape]
    if reduction != "none":
        placed[axis] = d.integer(1, 6)
    axis %= len(shape)
    lanes = math.prod(placed[:axis]), math.prod(placed[axis + 1 :])
    values = [0] * math.prod(placed)
    for outer in range(lanes[0]):
        for inner in range(lanes[1]):
            if reduction == "none":
                chosen = d.sample(range(size), placed[axis])
            else:
                chosen = [d.integer(0, size - 1) for _ in range(placed[axis])]
            for index, place in enumerate(chosen):
                negative = d.opset >= 11 and d.chance(0.2)
                values[(outer * placed[axis] + index) * lanes[1] + inner] = place - size if negative else place
    d.listed(values, dtype=d.index_dtype(), shape=placed)
    d.operand(placed, dtype=dtype)


@rule("TensorScatter")
def tensor_scatter(d: Draw) -> None:
    batch, length, width = d.integer(1, 3), d.integer(2, 6), d.integer(1, 4)
    heads = [d.integer(1, 2)] if d.chance(0.5) else []
    dtype = d.operand([batch, *heads, length, width], allowed=WIDE)
    mode = d.maybe("mode", ["linear", "circular"]) or "linear"
    added = d.integer(1, length)
    d.operand([batch, *heads, added, width], dtype=dtype)
    if d.chance(0.7):
        most = length - added if mode == "linear" else length - 1
        d.listed([d.integer(0, most) for _ in range(batch)])
