"""Ops that only move data, shapes and generators."""

from __future__ import annotations

import math

from ..case import FLOATS
from ..draw import INTEGERS, WIDE, Draw
from .registry import rule


@rule("Reshape")
def reshape(d: Draw) -> None:
    shape = d.shape()
    d.operand(shape, allowed=WIDE)
    count = math.prod(shape)
    target: list[int] = []
    rest = count
    for _ in range(d.integer(0, 3)):
        factor = d.pick([size for size in range(1, 10) if rest % size == 0]) if rest else d.pick([0, 1, 2])
        target.append(factor)
        rest = rest // factor if factor else 0
    target.append(rest if count else 0)
    d.random.shuffle(target)
    allow_zero = d.has("allowzero") and (not count or d.chance(0.2))
    if allow_zero:
        d.attribute("allowzero", 1)
    elif not count:
        target = [0 if index < len(shape) and not size else 1 for index, size in enumerate(shape)]
    else:
        for index, size in enumerate(target):
            if index < len(shape) and shape[index] == size and d.chance(0.4):
                target[index] = 0
    if target and d.chance(0.4) and count and not (allow_zero and 0 in target):
        target[d.integer(0, len(target) - 1)] = -1
    d.listed(target)


@rule("Flatten")
def flatten(d: Draw) -> None:
    shape = d.shape()
    d.operand(shape, allowed=WIDE)
    d.maybe("axis", list(range(-len(shape) if d.since >= 11 else 0, len(shape) + 1)), 0.6 if shape else 1)


@rule("Squeeze")
def squeeze(d: Draw) -> None:
    shape = d.shape()
    if not d.tame:
        shape = [1 if d.chance(0.4) else size for size in shape]
    d.operand(shape, allowed=WIDE)
    ones = [index for index, size in enumerate(shape) if size == 1]
    if ones and d.chance(0.7):
        axes = d.sample(ones, d.integer(1, len(ones)))
        axes = [axis - len(shape) if d.chance(0.3) and d.opset >= 11 else axis for axis in axes]
        _axes(d, axes)


@rule("Unsqueeze")
def unsqueeze(d: Draw) -> None:
    shape = d.shape()
    d.operand(shape, allowed=WIDE)
    rank = len(shape)
    count = d.integer(1, 2)
    axes = d.sample(range(rank + count), count)
    _axes(d, [axis - rank - count if d.chance(0.3) and d.opset >= 11 else axis for axis in axes])


def _axes(d: Draw, axes: list[int]) -> None:
    if d.has("axes"):
        d.attribute("axes", axes)
    else:
        d.listed(axes)


@rule("Transpose")
def transpose(d: Draw) -> None:
    shape = d.shape(0, 5)
    d.operand(shape, allowed=WIDE)
    d.maybe("perm", [d.sample(range(len(shape)), len(shape))] if shape else [], 0.8 if shape else 0)


@rule("Slice")
def slice_(d: Draw) -> None:
    shape = d.shape(1)
    d.operand(shape, allowed=WIDE)
    axes = d.axes(len(shape), 1)
    extremes = [-(2**63) + 1, 2**63 - 1, -(2**31), 2**31 - 1, -1000, 1000]
    starts, ends, steps = [], [], []
    for axis in axes:
        size = shape[axis]
        step = d.pick([1, 1, 1, 2, 3, -1, -2, 1000, -1000]) if d.since >= 10 else 1
        low, high = (d.integer(-size - 1, size + 1) for _ in range(2))
        starts.append(d.pick(extremes) if d.chance(0.15) else low)
        ends.append(d.pick(extremes) if d.chance(0.25) else high)
        steps.append(step)
    if d.since < 10:
        in_order = [axis if axis >= 0 else axis + len(shape) for axis in axes]
        d.attribute("starts", starts)
        d.attribute("ends", ends)
        d.attribute("axes", in_order)
        return
    dtype = d.index_dtype()
    if dtype == "INT32":
        starts, ends = ([max(-(2**31), min(2**31 - 1, item)) for item in items] for items in (starts, ends))
    constant = 1.0 if d.chance(0.6) else 0.0
    for items in (starts, ends, axes, steps):
        d.listed(items, dtype=dtype, constant=constant)
    if all(step == 1 for step in steps) and d.chance(0.5):
        d.inputs.pop()
        d.operands.pop()


@rule("Split")
def split(d: Draw) -> None:
    shape = d.shape(1)
    d.operand(shape, allowed=WIDE)
    axis = d.axis(len(shape)) if d.since >= 11 else d.integer(0, len(shape) - 1)
    d.attribute("axis", axis)
    size = shape[axis]
    if d.chance(0.5):
        count = d.integer(1, 4)
        parts = []
        for _ in range(count - 1):
            parts.append(d.integer(0, size - sum(parts)))
        parts.append(size - sum(parts))
        d.results = [True] * count
        if d.has("split"):
            d.attribute("split", parts)
        else:
            d.listed(parts)
        return
    divisors = [count for count in range(1, 8) if size % count == 0]
    count = d.pick(divisors) if d.since < 18 or d.chance(0.5) else d.integer(1, max(size, 1))
    d.need((count - 1) * -(-size // count) <= size)
    d.results = [True] * count
    if d.has("num_outputs"):
        d.attribute("num_outputs", count)


@rule("Concat")
def concat(d: Draw) -> None:
    shape = d.shape(1)
    axis = d.axis(len(shape)) if d.since >= 11 else d.integer(0, len(shape) - 1)
    for index in range(d.integer(1, 4)):
        part = [*shape]
        if index:
            part[axis] = d.size() if d.chance(0.5) else part[axis]
        d.operand(part, allowed=WIDE)
    d.attribute("axis", axis)


@rule("Expand")
def expand(d: Draw) -> None:
    shape = d.shape()
    d.operand(shape, allowed=WIDE)
    target = [d.size() if size == 1 and d.chance(0.6) else 1 if d.chance(0.2) else size for size in shape]
    if d.chance(0.3):
        target = [d.size() for _ in range(d.integer(1, 2))] + target
    elif target and d.chance(0.2):
        target = target[1:]
    d.listed(target)


@rule("Tile")
def tile(d: Draw) -> None:
    shape = d.shape(1)
    d.operand(shape, allowed=WIDE)
    d.listed([d.pick([1, 1, 2, 3, 0] if not d.tame else [1, 1, 2]) for _ in shape])


@rule("Pad")
def pad(d: Draw) -> None:
    shape = d.shape(1)
    dtype = d.operand(shape, allowed=WIDE)
    modes = ["constant", "constant", "reflect", "edge"] + (["wrap"] if d.since >= 19 else [])
    mode = d.pick(modes)
    if mode != "constant" or d.chance(0.7):
        d.attribute("mode", mode)
    axes = d.axes(len(shape), 1) if d.since >= 18 and d.chance(0.5) else None
    sizes = shape if axes is None else [shape[axis] for axis in axes]
    begins, ends = [], []
    for size in sizes:
        most = (
            3 if mode == "constant" else max(size - 1, 0) if mode == "reflect" else size if mode == "wrap" else 3 if size else 0
        )
        least = -min(size // 2, 2) if d.chance(0.25) else 0
        begins.append(d.integer(least, min(most, 3)))
        ends.append(d.integer(least, min(most, 3)))
        d.need(mode == "constant" or not (begins[-1] < 0 or ends[-1] < 0) or size + begins[-1] + ends[-1] > 0)
    if d.since < 11:
        d.attribute("pads", begins + ends)
        d.maybe("value", [0.5, -1.0])
        return
    d.listed(begins + ends)
    if d.chance(0.6):
        d.listed([d.pick([0, 1, 3])], dtype=dtype, shape=[])
    elif axes is not None:
        d.omit()
    if axes is not None:
        d.listed(axes, dtype=d.index_dtype())


@rule("DepthToSpace", "SpaceToDepth")
def blocks(d: Draw) -> None:
    n, c, h, w = d.shape(4, 4)
    block = d.integer(1, 3)
    if d.tame:
        d.need(not (c % block**2 if d.op == "DepthToSpace" else h % block or w % block))
    elif d.op == "DepthToSpace":
        c = min(c, 4) * block**2
    else:
        h, w = min(h, 5) * block, min(w, 5) * block
    d.operand([n, c, h, w], allowed=WIDE)
    d.attribute("blocksize", block)
    d.maybe("mode", ["DCR", "CRD"])


@rule("Shape")
def shape_of(d: Draw) -> None:
    d.operand(d.shape(), allowed=WIDE)
    d.maybe("start", range(-5, 6))
    d.maybe("end", range(-5, 6))


@rule("Size")
def size_of(d: Draw) -> None:
    d.operand(d.shape(), allowed=WIDE)


@rule("ConstantOfShape")
def constant_of_shape(d: Draw) -> None:
    shape = d.any_shape()
    d.listed(shape)
    if d.chance(0.7):
        dtype = d.pick(sorted(WIDE - {"BFLOAT16"}))
        d.attribute("value", {"dtype": dtype, "shape": [1], "values": [d.pick([0, 1, 3])]})


@rule("Range")
def range_(d: Draw) -> None:
    dtype = d.type(0, {"FLOAT", "DOUBLE", "INT16", "INT32", "INT64"})
    start, limit = d.integer(-6, 6), d.integer(-9, 12)
    step = d.pick([1, 2, 3, 7]) * (1 if limit >= start or d.chance(0.1) else -1)
    constant = 1.0 if d.chance(0.5) else 0.0
    for value in (start, limit, step / 2 if dtype in FLOATS else step):
        d.listed([value], dtype=dtype, shape=[], constant=constant)


@rule("EyeLike")
def eye_like(d: Draw) -> None:
    d.operand(d.shape(2, 2), allowed=WIDE)
    d.maybe("k", range(-4, 5))
    d.maybe("dtype", [1, 6, 7, 11])


@rule("Trilu")
def trilu(d: Draw) -> None:
    d.operand(d.shape(2), allowed=WIDE)
    d.maybe("upper", [0, 1])
    if d.chance(0.6):
        d.listed([d.pick([-20, -3, -1, 0, 1, 2, 20])], shape=[])


@rule("CenterCropPad")
def center_crop_pad(d: Draw) -> None:
    shape = d.shape(1)
    d.operand(shape, allowed=WIDE)
    axes = d.axes(len(shape), 1) if d.chance(0.5) else None
    d.listed([d.integer(1, 9) for _ in (shape if axes is None else axes)], dtype=d.index_dtype())
    if axes is not None:
        d.attribute("axes", axes)


@rule("ReverseSequence")
def reverse_sequence(d: Draw) -> None:
    shape = d.shape(2)
    d.operand(shape, allowed=WIDE)
    batch = d.integer(0, 1)
    d.attribute("batch_axis", batch)
    d.attribute("time_axis", 1 - batch)
    d.need(shape[1 - batch] > 0)
    d.listed([d.integer(1, shape[1 - batch]) for _ in range(shape[batch])])


@rule("OneHot")
def one_hot(d: Draw) -> None:
    shape = d.any_shape(0, 3)
    depth = d.integer(1, 6)
    indices = d.pick(["INT64", "INT32", "FLOAT"])
    least = -depth - 1 if d.since >= 11 else 0
    d.listed([d.integer(least, depth + 1) for _ in range(math.prod(shape))], dtype=indices, shape=shape, constant=0.2)
    d.listed([depth], shape=[] if d.chance(0.5) else [1])
    dtype = d.pick(["FLOAT", "INT64", "INT32"])
    d.listed([d.integer(0, 2), d.integer(3, 5)], dtype=dtype)
    d.maybe("axis", range(-len(shape) - 1, len(shape) + 1))


@rule("Compress")
def compress(d: Draw) -> None:
    shape = d.shape(1)
    d.operand(shape, allowed=WIDE)
    axis = d.axis(len(shape)) if d.chance(0.6) else None
    if axis is not None:
        d.attribute("axis", axis)
    size = math.prod(shape) if axis is None else shape[axis]
    d.listed([d.integer(0, 1) for _ in range(d.integer(0, size))], dtype="BOOL")


@rule("NonZero")
def non_zero(d: Draw) -> None:
    d.operand(d.shape(1), "ties", allowed=WIDE)


@rule("Unique")
def unique(d: Draw) -> None:
    shape = d.shape(1, 3)
    d.operand(shape, "ties", allowed=INTEGERS | FLOATS)
    d.maybe("axis", range(-len(shape), len(shape)))
    d.maybe("sorted", [0, 1])
    d.results = [True, *(d.chance(0.6) for _ in range(3))]
