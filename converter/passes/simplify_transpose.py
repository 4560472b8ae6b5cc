"""Makes one transpose of two in a row, and drops those that move no axis."""

from __future__ import annotations

from ..ir import Node, Value
from .facts import integer_list
from .rewriter import Rewriter, on_every_graph


def _rewrite(rewriter: Rewriter) -> int:
    changes = 0
    for node in rewriter.nodes():
        if node.op != "transpose" or node.inputs[0] is None:
            continue
        source, perm = node.inputs[0], integer_list(node, "perm")
        earlier = _transpose_behind(source)
        if earlier is not None and earlier.inputs[0] is not None:
            source = earlier.inputs[0]
            first = integer_list(earlier, "perm")
            perm = [first[axis] for axis in perm]
        if perm == sorted(perm):
            rewriter.replace(node.output, source)
            changes += 1
        elif earlier is not None:
            node.attributes["perm"] = perm
            rewriter.set_input(node, 0, source)
            changes += 1
    return changes


simplify_transpose = on_every_graph(_rewrite)


def _transpose_behind(value: Value) -> Node | None:
    producer = value.producer
    return producer if producer is not None and producer.op == "transpose" else None
