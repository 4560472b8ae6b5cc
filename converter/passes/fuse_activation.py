"""Lets convolutions and matmuls apply the activation that follows them."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from ..ir import Attribute, Node, Value
from .facts import PRODUCTS, RESIDUAL, SLOPE, activation, is_float, number, output_channels, scalar, text
from .rewriter import Rewriter, on_every_graph

_PLAIN: Final = {"relu", "hard_swish", "silu", "sigmoid", "tanh"}


def _rewrite(rewriter: Rewriter) -> int:
    return sum(_fuse(rewriter, node) for node in rewriter.nodes() if node.op in PRODUCTS)


fuse_activation = on_every_graph(_rewrite)


def _fuse(rewriter: Rewriter, node: Node) -> int:
    reader = rewriter.sole_reader(node.output)
    if reader is None or not is_float(node.output) or activation(node) != "none" or reader.inputs[0] is not node.output:
        return 0
    if node.input(RESIDUAL) is not None and text(node, "residual", "before") != "before":
        return 0
    if reader.op == "prelu":
        slope = _slope(rewriter, node, reader)
        if slope is None:
            return 0
        rewriter.set_input(node, SLOPE, slope)
        node.attributes["activation"] = "prelu"
    else:
        attributes = _epilogue(reader)
        if attributes is None:
            return 0
        node.attributes |= attributes
    rewriter.absorb(node, reader)
    return 1


def _epilogue(reader: Node) -> dict[str, Attribute] | None:
    """The epilogue's attributes for this activation; None if it is none, or has computed bounds."""
    if reader.op in _PLAIN:
        return {"activation": reader.op}
    if reader.op == "gelu":
        return {"activation": "gelu_tanh" if text(reader, "approximate", "none") == "tanh" else "gelu"}
    if reader.op == "leaky_relu":
        return {"activation": "leaky_relu", "alpha": number(reader, "alpha", 0.01)}
    if reader.op == "hard_sigmoid":
        return {"activation": "hard_sigmoid", "alpha": number(reader, "alpha", 0.2), "beta": number(reader, "beta", 0.5)}
    if reader.op == "clip":
        low = -math.inf if reader.input(1) is None else scalar(reader.input(1))
        high = math.inf if reader.input(2) is None else scalar(reader.input(2))
        if low is not None and high is not None and low <= high:
            return {"activation": "clip", "alpha": low, "beta": high}
    return None


def _slope(rewriter: Rewriter, node: Node, reader: Node) -> Value | None:
    """prelu's slopes as the epilogue wants them: one per channel, or one for all."""
    channels, slope = output_channels(node), reader.input(1)
    if channels is None or slope is None or slope.constant is None or slope.dtype != node.output.dtype:
        return None
    if channels.vector(slope) is None:
        return None
    return rewriter.constant(slope.name, np.ascontiguousarray(slope.constant.reshape(-1)), slope.dtype)
