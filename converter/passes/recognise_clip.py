"""Recognises clipping spelled with max and min, merges it with relu, and writes a clip from zero upwards as relu."""

from __future__ import annotations

import math

import numpy as np

from ..ir import Node, Value
from .facts import broadcasts_into, is_float, numpy_dtype, scalar
from .match import Any, Constant, OneOf, Op, find
from .rewriter import Rewriter, on_every_graph

_X = Any("x")
_BOUNDED = OneOf(Op("max", _X, Constant("bound", one=True)), Op("min", _X, Constant("bound", one=True)))


def _rewrite(rewriter: Rewriter) -> int:
    changes = 0
    for node in rewriter.nodes():
        while is_float(node.output) and (_from_max_or_min(rewriter, node) or _merge(rewriter, node) or _to_relu(rewriter, node)):
            changes += 1
    return changes


recognise_clip = on_every_graph(_rewrite)


def _from_max_or_min(rewriter: Rewriter, node: Node) -> int:
    """max(x, number) and min(x, number) are clips with one bound."""
    match = find(_BOUNDED, node.output, rewriter)
    if match is None or not broadcasts_into(match["bound"], match["x"]) or math.isnan(match.number("bound")):
        return 0
    low, high = (match.number("bound"), math.inf) if node.op == "max" else (-math.inf, match.number("bound"))
    _make_clip(rewriter, node, match["x"], low, high)
    return 1


def _to_relu(rewriter: Rewriter, node: Node) -> int:
    if node.op != "clip" or _bounds(node) != (0, math.inf) or node.inputs[0] is None:
        return 0
    node.op = "relu"
    rewriter.set_inputs(node, [node.inputs[0]])
    return 1


def _merge(rewriter: Rewriter, node: Node) -> int:
    """A clip after a clip or relu is one clip with the tighter bounds."""
    bounds, inner = _bounds(node), node.inputs[0].producer if node.inputs and node.inputs[0] is not None else None
    inner_bounds = _bounds(inner) if inner is not None else None
    if bounds is None or inner is None or inner_bounds is None or inner.inputs[0] is None:
        return 0
    if rewriter.sole_reader(inner.output) is not node or inner_bounds[0] > inner_bounds[1]:
        return 0
    low, high = (min(max(bound, bounds[0]), bounds[1]) for bound in inner_bounds)
    if low > high:
        return 0
    _make_clip(rewriter, node, inner.inputs[0], low, high)
    return 1


def _bounds(node: Node) -> tuple[float, float] | None:
    """The bounds of a clip or relu, if they are constant."""
    if node.op == "relu":
        return 0, math.inf
    if node.op != "clip":
        return None
    low = -math.inf if node.input(1) is None else scalar(node.input(1))
    high = math.inf if node.input(2) is None else scalar(node.input(2))
    return None if low is None or high is None or math.isnan(low) or math.isnan(high) else (low, high)


def _make_clip(rewriter: Rewriter, node: Node, x: Value, low: float, high: float) -> None:
    """Turns the node into clip(x, low, high), or into relu."""
    operands: list[Value | None] = [x]
    node.op, node.attributes = "relu", {}
    if (low, high) != (0, math.inf):
        node.op = "clip"
        for name, bound, unbounded in (("min", low, -math.inf), ("max", high, math.inf)):
            array = np.array(bound, numpy_dtype(x.dtype))
            operands.append(None if bound == unbounded else rewriter.constant(f"{node.output.name}.{name}", array, x.dtype))
    rewriter.set_inputs(node, operands)
