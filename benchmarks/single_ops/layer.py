"""Convolutions and transposed ones as cases that are named by their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from single_ops.case import Case, floats, node, size_name

_SCALE = 0.1


def convolution(
    image: tuple[int, ...],
    filters: int,
    taps: tuple[int, ...],
    *,
    stride: int | tuple[int, ...] = 1,
    dilation: int = 1,
    groups: int = 1,
    pads: int | Sequence[int] | None = None,
) -> Case:
    """One convolution of an image (channels first, no batch). Without `pads` only its stride makes the result smaller."""
    axes = len(taps)
    same = [dilation * (size // 2) for size in taps] * 2
    attributes: dict[str, Any] = {
        "strides": _each(stride, axes),
        "dilations": [dilation] * axes,
        "group": groups,
        "pads": same if pads is None else _each(pads, 2 * axes),
    }
    weights = floats(filters, image[0] // groups, *taps, scale=_SCALE)
    name = _name(image, filters, taps, stride, dilation, groups) + _pads_name(pads)
    return Case(name, [node("Conv", "x, w", **attributes)], {"x": floats(1, *image)}, {"w": weights})


def transposed(
    image: tuple[int, ...],
    filters: int,
    taps: tuple[int, ...],
    *,
    stride: int = 1,
    dilation: int = 1,
    groups: int = 1,
    pads: int | None = None,
) -> Case:
    """One transposed convolution. Without `pads` the result is the image's size times the stride."""
    axes = len(taps)
    surplus = [dilation * (size - 1) + 1 - stride for size in taps]
    attributes: dict[str, Any] = {
        "strides": [stride] * axes,
        "dilations": [dilation] * axes,
        "group": groups,
        "pads": [(size + 1) // 2 for size in surplus] * 2 if pads is None else [pads] * 2 * axes,
        "output_padding": [size % 2 if pads is None else 0 for size in surplus],
    }
    weights = floats(image[0], filters // groups, *taps, scale=_SCALE)
    name = _name(image, filters, taps, stride, dilation, groups) + _pads_name(pads)
    return Case(name, [node("ConvTranspose", "x, w", **attributes)], {"x": floats(1, *image)}, {"w": weights})


def _name(
    image: tuple[int, ...], filters: int, taps: tuple[int, ...], stride: int | tuple[int, ...], dilation: int, groups: int
) -> str:
    parts = [f"{size_name(image)} to {filters}", size_name(taps)]
    if groups > 1:
        parts.append("depthwise" if groups == image[0] else f"{groups} groups")
    if stride != 1:
        parts.append(f"stride {stride if isinstance(stride, int) else size_name(stride)}")
    if dilation != 1:
        parts.append(f"dilation {dilation}")
    return ", ".join(parts)


def _pads_name(pads: int | Sequence[int] | None) -> str:
    if pads is None:
        return ""
    return f", pads {pads if isinstance(pads, int) else ' '.join(map(str, pads))}"


def _each(value: int | Sequence[int], count: int) -> list[int]:
    return [value] * count if isinstance(value, int) else list(value)
