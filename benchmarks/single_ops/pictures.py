"""Pooling, resizing and sampling of pictures, and of sounds and volumes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from single_ops.case import Array, Case, floats, node, size_name, sizes

_MODES = ("nearest", "linear", "cubic")


def _pool(kind: str, shape: tuple[int, ...], taps: int, stride: int, pad: int = 0) -> Case:
    """`shape` without the batch."""
    axes = len(shape) - 1
    name = f"{kind.lower()} {size_name(shape)}, {size_name([taps] * axes)}, stride {stride}"
    attributes: dict[str, Any] = {"kernel_shape": [taps] * axes, "strides": [stride] * axes, "pads": [pad] * 2 * axes}
    return Case(name, [node(kind, "x", **attributes)], {"x": floats(1, *shape)})


def _average(channels: int, size: int) -> Case:
    return Case(
        f"globalaveragepool {channels}x{size}x{size}", [node("GlobalAveragePool", "x")], {"x": floats(1, channels, size, size)}
    )


def _twice_as_large(mode: str, channels: int, size: int) -> Case:
    place = "asymmetric" if mode == "nearest" else "half_pixel"
    return Case(
        f"resize {mode} {channels}x{size}x{size} to {2 * size}x{2 * size}",
        [node("Resize", "x,,scales", mode=mode, coordinate_transformation_mode=place, nearest_mode="floor")],
        {"x": floats(1, channels, size, size)},
        {"scales": np.array([1, 1, 2, 2], np.float32)},
    )


def _grid_sample(mode: str, padding: str, channels: int, size: int) -> Case:
    """The places are random, a third of them outside: each pixel is read from elsewhere."""
    return Case(
        f"grid_sample {mode} {padding} {channels}x{size}x{size}",
        [node("GridSample", "x, grid", mode=mode, padding_mode=padding, align_corners=1)],
        {"x": floats(1, channels, size, size), "grid": floats(1, size, size, 2)},
    )


def _boxes(count: int, size: float) -> Array:
    corners = np.random.default_rng(2).random((count, 2, 2), np.float32) * np.float32(size)
    return np.sort(corners, axis=1).reshape(count, 4)


CASES = [
    _pool("MaxPool", (64, 112, 112), 3, 2, 1),
    _pool("MaxPool", (32, 128, 128), 2, 2),
    _pool("MaxPool", (128, 20, 20), 5, 1, 2),
    _pool("MaxPool", (256, 13, 13), 13, 1, 6),
    _pool("MaxPool", (64, 4000), 4, 4),
    _pool("MaxPool", (32, 16, 32, 32), 2, 2),
    _pool("AveragePool", (128, 56, 56), 2, 2),
    _pool("AveragePool", (192, 35, 35), 3, 1, 1),
    _average(512, 14),
    _average(96, 160),
    *(_twice_as_large(mode, *shape) for mode in _MODES for shape in ((3, 320), (64, 40))),
    Case(
        "resize linear 3x1080x1920 to 640x640",
        [node("Resize", "x,,,size", mode="linear")],
        {"x": floats(1, 3, 1080, 1920)},
        {"size": sizes(1, 3, 640, 640)},
    ),
    *(
        _grid_sample(mode, padding, *shape)
        for mode, padding, shape in product(_MODES, ("zeros", "border", "reflection"), ((3, 320), (64, 40)))
    ),
    Case(
        "grid_sample linear zeros 16x16x16x16",
        [node("GridSample", "x, grid")],
        {"x": floats(1, 16, 16, 16, 16), "grid": floats(1, 16, 16, 16, 3)},
    ),
    Case(
        "roi_align 50 boxes of 64x50x50",
        [node("RoiAlign", "x, boxes, picture", output_height=7, output_width=7, sampling_ratio=2, spatial_scale=0.25)],
        {"x": floats(1, 64, 50, 50)},
        {"boxes": _boxes(50, 190), "picture": np.zeros(50, np.int64)},
    ),
]
