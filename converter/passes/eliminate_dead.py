"""Removes nodes none of whose results is needed, and marks optional results that nobody reads as left out."""

from __future__ import annotations

from .rewriter import Rewriter, on_every_graph


def _rewrite(rewriter: Rewriter) -> int:
    changes = 0
    for node in reversed(list(rewriter.nodes())):
        needed = [value is not None and (bool(rewriter.readers(value)) or rewriter.is_output(value)) for value in node.outputs]
        if not any(needed):
            if rewriter.is_live(node):
                rewriter.erase(node)
                changes += 1
            continue
        for index, value in enumerate(node.outputs):
            if index and value is not None and not needed[index]:
                node.outputs[index] = None
                changes += 1
    return changes


eliminate_dead = on_every_graph(_rewrite)
