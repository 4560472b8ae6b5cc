"""Lets a gather pick rows of a stored table before they are decoded (cast, shifted, scaled), so that only those are.

Without it an embedding stored as int8 would be decoded as a whole, into four times its bytes."""

from __future__ import annotations

from typing import Final

from ..ir import Node, Value
from .facts import integer
from .rewriter import Rewriter, on_every_graph

_DECODING: Final = {"cast", "mul", "add", "sub", "div"}


def _rewrite(rewriter: Rewriter) -> int:
    changes = 0
    stored: set[Value] = set()
    for node in rewriter.nodes():
        if node.op == "gather":
            changes += _gather_first(rewriter, node, stored)
        elif node.op in _DECODING and all(value is not None and (value.is_constant or value in stored) for value in node.inputs):
            stored.add(node.output)
    return changes


gather_before_decoding = on_every_graph(_rewrite)


def _gather_first(rewriter: Rewriter, gather: Node, stored: set[Value]) -> int:
    """Swaps the gather with the decoding behind it, as long as there is some that only gathers need."""
    changes = 0
    pending = [gather]
    while pending:
        node = pending.pop()
        table, indices = node.inputs[:2]
        decoding = table.producer if table is not None and table in stored else None
        if (
            table is None
            or decoding is None
            or indices is None
            or not all(each.op == "gather" for each in rewriter.readers(table))
        ):
            continue
        operands = [_gathered(rewriter, node, value, table, indices) for value in decoding.inputs if value is not None]
        new = [each.producer for each in operands if each is not None and each.producer is not None and each not in stored]
        if None in operands:
            for unused in new:
                rewriter.erase(unused)
            continue
        pending += new
        rewriter.substitute(node, Node(decoding.op, operands, [node.output], dict(decoding.attributes), decoding.name))
        changes += 1
    return changes


def _gathered(rewriter: Rewriter, gather: Node, value: Value, table: Value, indices: Value) -> Value | None:
    """What an operand of the decoding becomes: gathered too, or as it is if it does not vary along the gathered axis."""
    if table.shape is None or value.shape is None or indices.shape is None:
        return None
    axis = integer(gather, "axis") % len(table.shape)
    own = axis - (len(table.shape) - len(value.shape))
    if own < 0:
        return value
    if value.shape[own] != table.shape[axis]:
        if value.constant is None:
            return None
        sizes: list[int] = list(value.constant.shape)
        spread = value.constant.reshape([*sizes[:own], *[1] * len(indices.shape), *sizes[own + 1 :]])
        return rewriter.constant(value.name, spread, value.dtype)
    shape = [*value.shape[:own], *indices.shape, *value.shape[own + 1 :]]
    picked = rewriter.value(f"{gather.output.name}.{value.name}", value.dtype, shape)
    rewriter.insert(Node("gather", [value, indices], [picked], {"axis": own}, gather.name), before=gather)
    return picked
