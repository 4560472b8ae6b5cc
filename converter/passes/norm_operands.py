"""What recognised norms share: the axes that they normalise over, and constants after them that become their operands."""

from __future__ import annotations

import numpy as np

from ..ir import Node, Value
from .facts import Array, integer, integers, rank
from .rewriter import Rewriter


def first_axis(x: Value, *axes_operands: Value) -> int | None:
    """The axis of x from which on all axes are averaged over; None unless all these operands say so alike."""
    axes_count = rank(x)
    if not axes_count:
        return None
    axes = [sorted({axis % axes_count for axis in integers(operand) or []}) for operand in axes_operands]
    if not axes[0] or any(each != axes[0] for each in axes) or axes[0] != list(range(axes[0][0], axes_count)):
        return None
    return axes[0][0]


def take_in(rewriter: Rewriter, node: Node, op: str, words: dict[str, int]) -> int:
    """Makes the constant of a node right after a norm (`op`) its operand: `words` says which op becomes which one."""
    position = words.get(node.op)
    if position is None:
        return 0
    for norm_index in (0, 1):
        normed, constant = node.input(norm_index), node.input(1 - norm_index)
        norm = normed.producer if normed is not None else None
        if norm is None or norm.op != op or constant is None or rewriter.sole_reader(norm.output) is not node:
            continue
        if any(norm.input(taken) is not None for taken in range(position, 3)):
            return 0
        full = _full(constant, norm)
        if full is None:
            return 0
        rewriter.set_input(norm, position, rewriter.constant(constant.name, full, constant.dtype))
        rewriter.absorb(norm, node)
        return 1
    return 0


def _full(constant: Value, norm: Node) -> Array | None:
    """The constant expanded to the shape of the axes normalised over; None if it varies along others, or enlarges the result."""
    shape = norm.output.shape
    if constant.constant is None or constant.dtype != norm.output.dtype or shape is None or constant.constant.ndim > len(shape):
        return None
    wanted = [dim for dim in shape[integer(norm, "axis", -1) :] if isinstance(dim, int)]
    array = constant.constant
    outer = max(0, array.ndim - len(wanted))
    if len(wanted) != len(shape[integer(norm, "axis", -1) :]) or any(dim != 1 for dim in array.shape[:outer]):
        return None
    array = array.reshape(array.shape[outer:])
    sizes: list[int] = list(array.shape)
    if any(own not in (1, size) for own, size in zip(sizes, wanted[len(wanted) - len(sizes) :], strict=True)):
        return None
    return np.ascontiguousarray(np.broadcast_to(array, wanted))
