"""Recognises activations that the author spelled out in simpler ops and writes each as the one op it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ..ir import Attribute, Node
from .facts import broadcasts_into, is_float, number
from .match import Any, Constant, Match, Number, OneOf, Op, Pattern, Product, close, find
from .rewriter import Rewriter, on_every_graph


@dataclass(frozen=True)
class _Rule:
    """What the pattern finds in x is this op of x. `attributes` gives None where the numbers found do not suit."""

    op: str
    pattern: Pattern
    attributes: Callable[[Match], dict[str, Attribute] | None] = field(default=lambda match: {})
    operands: tuple[str, ...] = ("x",)


_X: Final = Any("x")
_EXP_NEGATIVE: Final = Op("add", Op("exp", Op("neg", _X)), Number(1))
_SOFTPLUS: Final = OneOf(Op("softplus", _X), Op("log", Op("add", Op("exp", _X), Number(1))))


def _is_sixth(node: Node) -> bool:
    """hard_sigmoid with the numbers of hard_swish."""
    dtype = node.output.dtype
    return close(number(node, "alpha", 0.2), 1 / 6, dtype) and close(number(node, "beta", 0.5), 0.5, dtype)


_CLIP_OF_SUM: Final = Op("clip", Op("add", _X, Constant("shift", one=True)), Number(0), Constant("top", one=True))
_MULTIPLE: Final = OneOf(Op("mul", _X, Constant("factor", one=True)), Op("div", _X, Constant("divisor", one=True)))
_CLIP_OF_PRODUCT: Final = Op("clip", Op("add", _MULTIPLE, Constant("shift", one=True)), Number(0), Number(1))


def _scaled_clip(match: Match) -> dict[str, Attribute] | None:
    """clip(x + shift, 0, top) / top = clip(x / top + shift / top, 0, 1)."""
    top = match.number("top")
    by = 1 / match.number("scale") if "scale" in match.values and match.number("scale") else match.number("by")
    if top <= 0 or math.isinf(top) or not close(by, top, match["x"].dtype):
        return None
    return {"alpha": 1 / top, "beta": match.number("shift") / top}


def _affine_clip(match: Match) -> dict[str, Attribute] | None:
    if "factor" in match.values:
        return {"alpha": match.number("factor"), "beta": match.number("shift")}
    divisor = match.number("divisor")
    return {"alpha": 1 / divisor, "beta": match.number("shift")} if divisor else None


def _scaled(pattern: Pattern) -> Pattern:
    return OneOf(Op("mul", pattern, Constant("scale", one=True)), Op("div", pattern, Constant("by", one=True)))


_ERF: Final = Op("erf", Product(math.sqrt(0.5), _X))
_SQUARE: Final = OneOf(Op("pow", _X, Number(2)), Op("mul", _X, _X))
_CUBIC: Final = OneOf(Product(0.044715, Op("pow", _X, Number(3))), Product(0.044715, _X, _X, _X), Product(0.044715, _X, _SQUARE))
_QUADRATIC: Final = OneOf(Product(0.044715, _X, _X), Product(0.044715, _SQUARE))
_TANH: Final = Op(
    "tanh",
    OneOf(
        Product(math.sqrt(2 / math.pi), Op("add", _X, _CUBIC)),
        Product(math.sqrt(2 / math.pi), _X, Op("add", Number(1), _QUADRATIC)),
    ),
)


def _leaky_slope(match: Match) -> dict[str, Attribute] | None:
    """max(x, a·x) is x above zero and a·x below for 0 ≤ a ≤ 1 only."""
    alpha = match.number("alpha")
    return {"alpha": alpha} if 0 <= alpha <= 1 else None


def _slope(match: Match) -> dict[str, Attribute] | None:
    return {"alpha": match.number("alpha")}


_ALPHA: Final = Constant("alpha", one=True)

_RULES: Final = (
    _Rule("sigmoid", OneOf(Op("div", Number(1), _EXP_NEGATIVE), Op("reciprocal", _EXP_NEGATIVE))),
    _Rule("silu", OneOf(Product(1, _X, Op("sigmoid", _X)), Op("div", _X, _EXP_NEGATIVE))),
    _Rule("softplus", Op("log", Op("add", Op("exp", _X), Number(1)))),
    _Rule("mish", Product(1, _X, Op("tanh", _SOFTPLUS))),
    _Rule("softsign", Op("div", _X, Op("add", Op("abs", _X), Number(1)))),
    _Rule("hard_swish", Product(1 / 6, _X, Op("clip", Op("add", _X, Number(3)), Number(0), Number(6)))),
    _Rule("hard_swish", Product(1, _X, Op("hard_sigmoid", _X, where=_is_sixth))),
    _Rule("hard_sigmoid", _scaled(_CLIP_OF_SUM), _scaled_clip),
    _Rule("hard_sigmoid", _CLIP_OF_PRODUCT, _affine_clip),
    _Rule("gelu", Product(0.5, _X, Op("add", Number(1), _ERF)), lambda match: {"approximate": "none"}),
    _Rule("gelu", Product(1, _X, Op("add", Number(0.5), Product(0.5, _ERF))), lambda match: {"approximate": "none"}),
    _Rule("gelu", Product(0.5, _X, Op("add", Number(1), _TANH)), lambda match: {"approximate": "tanh"}),
    _Rule("leaky_relu", Op("max", _X, Op("mul", _X, _ALPHA)), _leaky_slope),
    _Rule("leaky_relu", Op("where", Op("greater", _X, Number(0)), _X, Op("mul", _X, _ALPHA)), _slope),
    _Rule("leaky_relu", Op("prelu", _X, _ALPHA), _slope),
    _Rule("prelu", Op("sub", Op("relu", _X), Op("mul", Constant("slope"), Op("relu", Op("neg", _X)))), operands=("x", "slope")),
)


def _rewrite(rewriter: Rewriter) -> int:
    return sum(_apply(rewriter, node) for node in rewriter.nodes())


recognise_activation = on_every_graph(_rewrite)


def _apply(rewriter: Rewriter, node: Node) -> int:
    if not is_float(node.output):
        return 0
    for rule in _RULES:
        match = find(rule.pattern, node.output, rewriter)
        if match is None or not all(broadcasts_into(constant, match["x"]) for constant in match.constants):
            continue
        attributes = rule.attributes(match)
        if attributes is not None:
            operands = [match[name] for name in rule.operands]
            rewriter.substitute(node, Node(rule.op, [*operands], [node.output], attributes, node.name))
            return 1
    return 0
