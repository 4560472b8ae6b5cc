"""Removes nodes that return their first operand unchanged: identity, casts to the same type, slices of the whole, x·1, x+0 …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..ir import Node, Value
from .facts import broadcasts_into, integer, integers, is_filled_with, same_shape, text
from .rewriter import Rewriter, on_every_graph


def _rewrite(rewriter: Rewriter) -> int:
    changes = 0
    for node in rewriter.nodes():
        kept = _unchanged_operand(node)
        if kept is not None and node.output is not kept:
            rewriter.replace(node.output, kept)
            changes += 1
    return changes


drop_identity = on_every_graph(_rewrite)


def _unchanged_operand(node: Node) -> Value | None:
    """The operand that the node's only result equals, if there is one."""
    if sum(value is not None for value in node.outputs) != 1 or not node.inputs or node.inputs[0] is None:
        return None
    rule = _RULES.get(node.op)
    if rule is not None and rule(node):
        return node.inputs[0]
    if node.op in _NEUTRAL and _is_neutral(node, 1, 0):
        return node.inputs[0]
    if node.op in _COMMUTATIVE_NEUTRAL and _is_neutral(node, 0, 1):
        return node.input(1)
    return None


def _same(node: Node) -> bool:
    operand = node.input(0)
    return operand is not None and same_shape(operand, node.output)


def _cast(node: Node) -> bool:
    operand = node.input(0)
    return operand is not None and operand.dtype != 0 and operand.dtype == integer(node, "to")


def _slice(node: Node) -> bool:
    """A slice as long as its operand, in forward steps of one, is all of it."""
    steps = [1] if node.input(4) is None else integers(node.input(4))
    return steps is not None and all(step == 1 for step in steps) and _same(node)


def _tile(node: Node) -> bool:
    repeats = integers(node.input(1))
    return repeats is not None and all(count == 1 for count in repeats)


def _pad(node: Node) -> bool:
    pads = integers(node.input(1))
    return pads is not None and not any(pads)


def _resize(node: Node) -> bool:
    """Resampling at a scale of one. Sizes may equal while scales do not, so both are looked at."""
    if not _same(node) or text(node, "coordinates") not in {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"}:
        return False
    return node.input(1) is not None or is_filled_with(node.input(2), 1)


def _clip(node: Node) -> bool:
    return node.input(1) is None and node.input(2) is None


_RULES: Final[dict[str, Callable[[Node], bool]]] = {
    "identity": lambda node: True,
    "cast": _cast,
    "concat": lambda node: len(node.inputs) == 1,
    "split": lambda node: len(node.outputs) == 1,
    "clip": _clip,
    "expand": _same,
    "pad": _pad,
    "resize": _resize,
    "slice": _slice,
    "tile": _tile,
}
_NEUTRAL: Final = {"add": 0, "sub": 0, "mul": 1, "div": 1, "pow": 1}
_COMMUTATIVE_NEUTRAL: Final = {"add", "mul"}


def _is_neutral(node: Node, constant_index: int, other_index: int) -> bool:
    """Whether one operand is filled with the op's neutral number and the result is just the other operand."""
    constant, other = node.input(constant_index), node.input(other_index)
    if other is None or constant is None or not is_filled_with(constant, _NEUTRAL[node.op]) or other.dtype != node.output.dtype:
        return False
    return same_shape(other, node.output) or broadcasts_into(constant, other)
