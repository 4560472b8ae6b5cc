"""Recognises normalisation by the root of the mean square, spelled out, and takes in the scale after it."""

from __future__ import annotations

from typing import Final

from ..ir import Node
from .facts import FLOATS, broadcasts_into, is_float
from .match import Any, Number, OneOf, Op, find
from .norm_operands import first_axis, take_in
from .recognise_layer_norm import by_root, mean
from .rewriter import Rewriter, on_every_graph

_X: Final = Any("x")
_RMS_NORM: Final = by_root(_X, mean(OneOf(Op("pow", _X, Number(2)), Op("mul", _X, _X)), "axes"))


def _rewrite(rewriter: Rewriter) -> int:
    changes = 0
    for node in rewriter.nodes():
        if is_float(node.output):
            changes += _core(rewriter, node) or take_in(rewriter, node, "rms_norm", {"mul": 1})
    return changes


recognise_rms_norm = on_every_graph(_rewrite)


def _core(rewriter: Rewriter, node: Node) -> int:
    match = find(_RMS_NORM, node.output, rewriter)
    if match is None or match["x"].dtype not in FLOATS or not broadcasts_into(match["epsilon"], match["x"]):
        return 0
    axis = first_axis(match["x"], match["axes"])
    if axis is None:
        return 0
    attributes = {"axis": axis, "epsilon": match.number("epsilon")}
    rewriter.substitute(node, Node("rms_norm", [match["x"]], [node.output], {**attributes}, node.name))
    return 1
