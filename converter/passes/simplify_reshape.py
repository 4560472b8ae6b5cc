"""Merges chains of reshape, flatten, squeeze and unsqueeze, drops those that change nothing, and gives a reshape with a computed
shape a constant one where at most one dim is open."""

from __future__ import annotations

from typing import Final

import numpy as np
from onnx import TensorProto

from ..ir import Dim, Node, Value
from .facts import integers, same_shape
from .rewriter import Rewriter, on_every_graph

_RELABELLINGS: Final = {"reshape", "flatten", "squeeze", "unsqueeze"}
"""Ops that keep the row-major order of elements."""


def _rewrite(rewriter: Rewriter) -> int:
    changes = 0
    for node in rewriter.nodes():
        if node.op not in _RELABELLINGS or node.inputs[0] is None:
            continue
        source = _source(node.inputs[0])
        if same_shape(source, node.output):
            rewriter.replace(node.output, source)
            changes += 1
        elif source is not node.inputs[0] or (node.op == "reshape" and integers(node.input(1)) is None):
            changes += _reshape_from(rewriter, node, source)
    return changes


simplify_reshape = on_every_graph(_rewrite)


def _source(value: Value) -> Value:
    """What the value is a relabelling of."""
    while value.producer is not None and value.producer.op in _RELABELLINGS and value.producer.inputs[0] is not None:
        value = value.producer.inputs[0]
    return value


def _reshape_from(rewriter: Rewriter, node: Node, source: Value) -> int:
    """Makes the node a reshape of `source` to a constant shape, if there is one that is right for all sizes."""
    dims = _constant_shape(source.shape, node.output.shape)
    if dims is None:
        return 0
    shape = rewriter.constant(f"{node.output.name}.shape", np.array(dims, np.int64), TensorProto.INT64)
    node.op = "reshape"
    node.attributes = {"allow_zero": int(0 in (node.output.shape or []))}
    rewriter.set_inputs(node, [source, shape])
    return 1


def _constant_shape(source: list[Dim] | None, wanted: list[Dim] | None) -> list[int] | None:
    """Dims for a constant reshape: 0 copies an equal symbolic dim from the same place, −1 stands for the only open one. They are
    not used together, nor beside a dim of zero, because a size of zero would leave −1 undetermined."""
    if source is None or wanted is None:
        return None
    is_open = [not isinstance(dim, int) for dim in wanted]
    fixed = [dim if isinstance(dim, int) else -1 for dim in wanted]
    if not any(is_open):
        return fixed
    if 0 in fixed:
        return None
    if sum(is_open) == 1:
        return fixed
    copies = [dim is not None and i < len(source) and source[i] == dim for i, dim in enumerate(wanted)]
    if all(copied or not opened for copied, opened in zip(copies, is_open, strict=True)):
        return [0 if opened else dim for dim, opened in zip(fixed, is_open, strict=True)]
    return None
