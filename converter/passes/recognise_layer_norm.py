"""Recognises layer normalisation spelled out in means, differences and a root, and takes in the scale and bias after it."""

from __future__ import annotations

from typing import Final

from ..ir import Node
from .facts import FLOATS, broadcasts_into, integer, is_float, text
from .match import Any, Constant, Named, Number, OneOf, Op, Pattern, find
from .norm_operands import first_axis, take_in
from .rewriter import Rewriter, on_every_graph


def is_mean(node: Node) -> bool:
    """Whether it keeps the axes that it averages over."""
    return text(node, "kind") == "mean" and integer(node, "keep_dims", 1) == 1


def mean(pattern: Pattern, axes: str) -> Pattern:
    """The mean of what fits, over constant axes of that name."""
    return Op("reduce", pattern, Constant(axes), where=is_mean)


def by_root(x: Pattern, squares: Pattern) -> Pattern:
    """x / √(squares + ε)."""
    shifted = Op("add", squares, Constant("epsilon", one=True))
    root = OneOf(Op("sqrt", shifted), Op("pow", shifted, Number(0.5)))
    inverse = OneOf(
        Op("reciprocal", root),
        Op("sqrt", Op("reciprocal", shifted)),
        Op("div", Number(1), root),
        Op("pow", shifted, Number(-0.5)),
    )
    return OneOf(Op("div", x, root), Op("mul", x, inverse))


_CENTRED: Final = Named("centred", Op("sub", Any("x"), mean(Any("x"), "mean_axes")))
_VARIANCE: Final = mean(OneOf(Op("pow", _CENTRED, Number(2)), Op("mul", _CENTRED, _CENTRED)), "variance_axes")
_LAYER_NORM: Final = by_root(_CENTRED, _VARIANCE)


def _rewrite(rewriter: Rewriter) -> int:
    changes = 0
    for node in rewriter.nodes():
        if is_float(node.output):
            changes += _core(rewriter, node) or take_in(rewriter, node, "layer_norm", {"mul": 1, "add": 2})
    return changes


recognise_layer_norm = on_every_graph(_rewrite)


def _core(rewriter: Rewriter, node: Node) -> int:
    match = find(_LAYER_NORM, node.output, rewriter)
    if match is None or match["x"].dtype not in FLOATS:
        return 0
    axis = first_axis(match["x"], match["mean_axes"], match["variance_axes"])
    if axis is None or not broadcasts_into(match["epsilon"], match["x"]):
        return 0
    attributes = {"axis": axis, "epsilon": match.number("epsilon")}
    rewriter.substitute(node, Node("layer_norm", [match["x"]], [node.output], {**attributes}, node.name))
    return 1
