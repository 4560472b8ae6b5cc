"""Resizing, sampling and boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..draw import WIDE, Draw
from .registry import rule


def _roi(d: Draw, active: Sequence[int]) -> list[float]:
    """A region of interest, the whole along axes that are not resized."""
    starts = [d.pick([0.0, 0.1, 0.25]) if on else 0.0 for on in active]
    return starts + [d.pick([0.8, 1.0, 1.2]) if on else 1.0 for on in active]


@rule("Resize")
def resize(d: Draw) -> None:
    shape = d.shape(1 if d.since >= 11 else 3, 4)
    d.need(0 not in shape)
    d.loose = True
    modes = ["nearest", "linear"] + (["cubic"] if d.since >= 11 and len(shape) == 4 else [])
    mode = d.pick(modes)
    rank = len(shape)
    d.operand(shape, allowed=WIDE - {"BOOL"} if mode == "nearest" else {"FLOAT", "FLOAT16", "DOUBLE"})
    d.attribute("mode", mode)
    touched = [0] * (rank - 2) + [1, 1] if rank > 2 else [1] * rank
    if d.since < 11:
        d.listed([d.pick([0.5, 1.0, 1.5, 2.0]) if on else 1.0 for on in touched], dtype="FLOAT", shape=[rank])
        return
    coordinates = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_crop_and_resize"]
    if d.since >= 19:
        coordinates.append("half_pixel_symmetric")
    elif d.since < 13:
        coordinates.append("tf_half_pixel_for_nn")
    transform = d.maybe("coordinate_transformation_mode", coordinates, 0.8)
    if mode == "nearest":
        d.maybe("nearest_mode", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        d.maybe("cubic_coeff_a", [-0.5, -0.75])
        d.maybe("exclude_outside", [0, 1], 0.3)
    d.maybe("extrapolation_value", [0.0, 3.0])
    axes = [rank - 2, rank - 1] if rank > 2 and d.has("axes") and d.chance(0.4) else None
    if d.has("antialias") and mode != "nearest" and transform != "tf_crop_and_resize":
        d.maybe("antialias", [0, 1], 0.3)
    if axes is not None:
        d.attribute("axes", axes)
    count = rank if axes is None else len(axes)
    active = touched if axes is None else [1] * count
    if transform == "tf_crop_and_resize":
        d.listed(_roi(d, active), dtype="FLOAT", shape=[2 * count])
    else:
        d.omit()
    if d.chance(0.5) and transform != "tf_crop_and_resize":
        d.listed([d.pick([0.4, 0.5, 0.75, 1.0, 1.3, 2.0, 2.6]) if on else 1.0 for on in active], dtype="FLOAT", shape=[count])
        return
    d.omit()
    sizes = (
        [d.integer(1, 10) for _ in active]
        if axes is not None
        else [d.integer(1, 10) if on else size for on, size in zip(active, shape)]
    )
    d.listed(sizes)
    if axes is not None and d.chance(0.3):
        d.maybe("keep_aspect_ratio_policy", ["stretch", "not_larger", "not_smaller"])


@rule("Upsample")
def upsample(d: Draw) -> None:
    shape = d.shape(4, 4)
    d.need(0 not in shape)
    d.loose = True
    d.operand(shape, allowed={"FLOAT"})
    d.attribute("mode", d.pick(["nearest", "linear"]))
    scales = [1.0, 1.0, d.pick([1.0, 1.5, 2.0, 3.0]), d.pick([1.0, 2.0, 2.5])]
    if d.has("scales"):
        d.attribute("scales", scales)
    else:
        d.listed(scales, dtype="FLOAT", shape=[4])


@rule("GridSample")
def grid_sample(d: Draw) -> None:
    d.loose = True
    sizes = [d.integer(1, 6) for _ in range(2 if d.since < 20 or d.chance(0.6) else 3)]
    out = [d.integer(1, 4) for _ in sizes]
    n = d.integer(1, 2)
    d.operand([n, d.integer(1, 3), *sizes], allowed={"FLOAT", "DOUBLE"})
    count = n * math.prod(out) * len(sizes)
    d.listed([round(d.random.uniform(-1.3, 1.3), 3) for _ in range(count)], dtype="FLOAT", shape=[n, *out, len(sizes)])
    modes = ["bilinear", "nearest", "bicubic"] if d.since < 20 else ["linear", "nearest"] + (["cubic"] if len(sizes) == 2 else [])
    d.attribute("mode", d.pick(modes))
    d.maybe("padding_mode", ["zeros", "border", "reflection"])
    d.maybe("align_corners", [0, 1])


@rule("AffineGrid")
def affine_grid(d: Draw) -> None:
    d.loose = True
    n = d.integer(1, 2)
    rank = d.integer(2, 3)
    d.operand([n, rank, rank + 1], allowed={"FLOAT", "DOUBLE"})
    d.listed([n, d.integer(1, 3), *(d.integer(1, 5) for _ in range(rank))])
    d.maybe("align_corners", [0, 1])


def _boxes(d: Draw, count: int, high: float) -> list[float]:
    boxes: list[float] = []
    for _ in range(count):
        x, y = d.random.uniform(0, high / 2), d.random.uniform(0, high / 2)
        boxes += [round(v, 2) for v in (x, y, x + d.random.uniform(0.5, high / 2), y + d.random.uniform(0.5, high / 2))]
    return boxes


@rule("RoiAlign")
def roi_align(d: Draw) -> None:
    d.loose = True
    n, count = d.integer(1, 2), d.integer(1, 3)
    dtype = d.operand([n, d.integer(1, 3), d.integer(3, 8), d.integer(3, 8)], allowed={"FLOAT", "DOUBLE"})
    d.listed(_boxes(d, count, 8.0), dtype=dtype, shape=[count, 4])
    d.listed([d.integer(0, n - 1) for _ in range(count)])
    d.maybe("mode", ["avg", "max"])
    d.maybe("coordinate_transformation_mode", ["half_pixel", "output_half_pixel"])
    d.attribute("output_height", d.integer(1, 4))
    d.attribute("output_width", d.integer(1, 4))
    d.maybe("sampling_ratio", [0, 1, 2])
    d.maybe("spatial_scale", [1.0, 0.5])


@rule("MaxRoiPool")
def max_roi_pool(d: Draw) -> None:
    n, count = d.integer(1, 2), d.integer(1, 3)
    d.operand([n, d.integer(1, 3), d.integer(4, 8), d.integer(4, 8)], allowed={"FLOAT"})
    values: list[float] = []
    for _ in range(count):
        x, y = d.integer(0, 2), d.integer(0, 2)
        values += [d.integer(0, n - 1), x, y, x + d.integer(1, 4), y + d.integer(1, 4)]
    d.listed(values, dtype="FLOAT", shape=[count, 5])
    d.attribute("pooled_shape", [d.integer(1, 3), d.integer(1, 3)])
    d.maybe("spatial_scale", [1.0, 0.5])


@rule("NonMaxSuppression")
def non_max_suppression(d: Draw) -> None:
    batch, classes, count = d.integer(1, 2), d.integer(1, 2), d.integer(1, 8)
    boxes = [value for _ in range(batch) for value in _boxes(d, count, 4.0)]
    d.listed(boxes, dtype="FLOAT", shape=[batch, count, 4], constant=0.2)
    scores = [round(d.random.random(), 3) for _ in range(batch * classes * count)]
    d.listed(scores, dtype="FLOAT", shape=[batch, classes, count], constant=0.2)
    d.listed([d.integer(0, 5)])
    d.listed([d.pick([0.1, 0.3, 0.5, 0.9])], dtype="FLOAT")
    if d.chance(0.6):
        d.listed([d.pick([0.0, 0.3, 0.6])], dtype="FLOAT")
    d.maybe("center_point_box", [0, 1])


@rule("DeformConv")
def deform_conv(d: Draw) -> None:
    d.loose = True
    n, channels, size, kernel = d.integer(1, 2), d.pick([2, 4]), d.integer(4, 6), d.integer(1, 3)
    group = d.pick([1, 2])
    offsets = d.pick([1, 2])
    outputs = group * d.integer(1, 2)
    pad = d.integer(0, 1)
    out = size + 2 * pad - kernel + 1
    dtype = d.operand([n, channels, size, size], allowed={"FLOAT", "DOUBLE"})
    d.operand([outputs, channels // group, kernel, kernel], "unit", dtype=dtype)
    d.operand([n, offsets * kernel * kernel * 2, out, out], "unit", dtype=dtype)
    if d.chance(0.5):
        d.operand([outputs], dtype=dtype)
    else:
        d.omit()
    if d.chance(0.5):
        d.operand([n, offsets * kernel * kernel, out, out], "positive", dtype=dtype)
    d.attribute("kernel_shape", [kernel, kernel])
    d.attribute("pads", [pad] * 4)
    d.attribute("group", group)
    d.attribute("offset_group", offsets)
