"""Lets convolutions and pools do the padding that a pad node in front of them did."""

from __future__ import annotations

import math
from typing import Final

from ..ir import Node, Value
from .facts import PRODUCTS, RESIDUAL, activation, integer, integer_list, integers, is_float, numpy_dtype, rank, scalar, text
from .rewriter import Rewriter, on_every_graph

_POOLS: Final = {"max_pool", "average_pool"}
_NEVER_NEGATIVE: Final = {"relu", "sigmoid", "hard_sigmoid"}


def _rewrite(rewriter: Rewriter) -> int:
    return sum(_fuse(rewriter, node) for node in rewriter.nodes() if node.op in {"conv", *_POOLS})


fuse_pad = on_every_graph(_rewrite)


def _fuse(rewriter: Rewriter, node: Node) -> int:
    operand = node.inputs[0]
    pad = operand.producer if operand is not None else None
    if operand is None or pad is None or pad.op != "pad" or rewriter.is_output(operand):
        return 0
    source, added = pad.inputs[0], _spatial_pads(pad)
    if source is None or added is None or text(node, "auto_pad", "explicit") not in {"explicit", "valid"}:
        return 0
    own = integer_list(node, "pads") if text(node, "auto_pad", "explicit") == "explicit" else []
    pads = [a + b for a, b in zip(own or [0] * len(added), added, strict=True)]
    if not _is_neutral(node, pad, source) or (node.op in _POOLS and not _pool_may_pad(node, own, pads)):
        return 0
    node.attributes["pads"] = [*pads]
    node.attributes["auto_pad"] = "explicit"
    if node.op == "average_pool":
        node.attributes["count_include_pad"] = 1
    rewriter.set_input(node, 0, source)
    return 1


def _spatial_pads(pad: Node) -> list[int] | None:
    """Constant paddings of the spatial axes, begins before ends; None if others are padded or something is cut off."""
    pads, axes_count = integers(pad.input(1)), rank(pad.output)
    axes = list(range(axes_count or 0)) if pad.input(3) is None else integers(pad.input(3))
    if text(pad, "mode", "constant") != "constant" or pads is None or axes is None or not axes_count:
        return None
    begins, ends = [0] * axes_count, [0] * axes_count
    for position, axis in enumerate(axes):
        begins[axis] += pads[position]
        ends[axis] += pads[position + len(axes)]
    if axes_count < 3 or any(begins[:2] + ends[:2]) or min(begins + ends) < 0:
        return None
    return begins[2:] + ends[2:]


def _is_neutral(node: Node, pad: Node, source: Value) -> bool:
    """Whether the number padded with is what the node itself pads with, or does as well."""
    padding = 0.0 if pad.input(2) is None else scalar(pad.input(2))
    if padding is None:
        return False
    if node.op != "max_pool":
        return padding == 0
    return padding == _lowest(source) or (padding == 0 and _is_never_negative(source))


def _lowest(value: Value) -> float:
    """The number that max_pool starts from."""
    dtype = numpy_dtype(value.dtype)
    return -math.inf if is_float(value) else float(-(1 << (8 * dtype.itemsize - 1)) if dtype.kind == "i" else 0)


def _is_never_negative(value: Value) -> bool:
    """Whether the value surely has no negative elements: zeros beside them never win."""
    node = value.producer
    if node is None:
        return False
    if node.op == "clip":
        low = scalar(node.input(1))
        high = math.inf if node.input(2) is None else scalar(node.input(2))
        return low is not None and low >= 0 and high is not None and high >= 0
    if node.input(RESIDUAL) is not None and node.op in PRODUCTS:
        return False
    return node.op in _NEVER_NEGATIVE or activation(node) in _NEVER_NEGATIVE


def _pool_may_pad(node: Node, own: list[int], pads: list[int]) -> bool:
    """Whether a pool gives the same with this padding of its own: every window must hold an element, counts must stay the same,
    and max_pool's indices must not be asked for (they would refer to the unpadded tensor)."""
    kernel = integer_list(node, "kernel")
    dilated = any(step != 1 for step in integer_list(node, "dilations"))
    if integer(node, "ceil_mode") or dilated or any(pad >= kernel[i % len(kernel)] for i, pad in enumerate(pads)):
        return False
    if node.op == "average_pool":
        return integer(node, "count_include_pad") == 1 or not any(own)
    return all(value is None for value in node.outputs[1:])
