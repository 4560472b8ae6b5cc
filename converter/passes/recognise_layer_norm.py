"""Recognises layer normalisation spelled out in means, differences and a root, and takes in the scale and bias after it."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..ir import Node, Value
from .facts import FLOATS, Array, broadcasts_into, integer, integers, is_float, rank, text
from .match import Any, Constant, Match, Named, Number, OneOf, Op, Pattern, find
from .rewriter import Rewriter, on_every_graph


def _is_mean(node: Node) -> bool:
    return text(node, "kind") == "mean" and integer(node, "keep_dims", 1) == 1


def _mean(pattern: Pattern, axes: str) -> Pattern:
    return Op("reduce", pattern, Constant(axes), where=_is_mean)


_CENTRED: Final = Named("centred", Op("sub", Any("x"), _mean(Any("x"), "mean_axes")))
_VARIANCE: Final = _mean(OneOf(Op("pow", _CENTRED, Number(2)), Op("mul", _CENTRED, _CENTRED)), "variance_axes")
_SHIFTED: Final = Op("add", _VARIANCE, Constant("epsilon", one=True))
_DEVIATION: Final = OneOf(Op("sqrt", _SHIFTED), Op("pow", _SHIFTED, Number(0.5)))
_INVERSE: Final = OneOf(Op("reciprocal", _DEVIATION), Op("div", Number(1), _DEVIATION), Op("pow", _SHIFTED, Number(-0.5)))
_LAYER_NORM: Final = OneOf(Op("div", _CENTRED, _DEVIATION), Op("mul", _CENTRED, _INVERSE))


def _rewrite(rewriter: Rewriter) -> int:
    changes = 0
    for node in rewriter.nodes():
        if is_float(node.output):
            changes += _core(rewriter, node) or _scale_or_bias(rewriter, node)
    return changes


recognise_layer_norm = on_every_graph(_rewrite)


def _core(rewriter: Rewriter, node: Node) -> int:
    match = find(_LAYER_NORM, node.output, rewriter)
    if match is None or match["x"].dtype not in FLOATS:
        return 0
    axis = _first_axis(match)
    if axis is None or not broadcasts_into(match["epsilon"], match["x"]):
        return 0
    attributes = {"axis": axis, "epsilon": match.number("epsilon")}
    rewriter.substitute(node, Node("layer_norm", [match["x"]], [node.output], {**attributes}, node.name))
    return 1


def _first_axis(match: Match) -> int | None:
    """The axis from which on all axes are averaged over, the same for mean and variance."""
    axes_count = rank(match["x"])
    if not axes_count:
        return None
    axes = [sorted({axis % axes_count for axis in integers(match[name]) or []}) for name in ("mean_axes", "variance_axes")]
    if not axes[0] or axes[0] != axes[1] or axes[0] != list(range(axes[0][0], axes_count)):
        return None
    return axes[0][0]


def _scale_or_bias(rewriter: Rewriter, node: Node) -> int:
    """mul by a constant right after the norm becomes its scale; add of one after that, its bias."""
    if node.op not in {"mul", "add"}:
        return 0
    for norm_index in (0, 1):
        normed, constant = node.input(norm_index), node.input(1 - norm_index)
        norm = normed.producer if normed is not None else None
        if norm is None or norm.op != "layer_norm" or constant is None or rewriter.sole_reader(norm.output) is not node:
            continue
        position = 1 if node.op == "mul" else 2
        if norm.input(2) is not None or (position == 1 and norm.input(1) is not None):
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
