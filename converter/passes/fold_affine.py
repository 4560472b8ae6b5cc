"""Folds per-channel multiplications and additions that follow a product (batch normalisation, for one) into weights and bias."""

from __future__ import annotations

from ..ir import Node
from .affine import Affine, affine_of, by_output_channel, fused_bias, may_replace, multiply_scale, rounded
from .facts import BIAS, PRODUCTS, RESIDUAL, activation, doubles, is_float, output_channels
from .rewriter import Rewriter, on_every_graph


def _rewrite(rewriter: Rewriter) -> int:
    changes = 0
    for node in rewriter.nodes():
        if node.op in PRODUCTS and is_float(node.output) and activation(node) == "none" and node.input(RESIDUAL) is None:
            while _fold_reader(rewriter, node):
                changes += 1
    return changes


fold_affine = on_every_graph(_rewrite)


def _fold_reader(rewriter: Rewriter, node: Node) -> bool:
    reader, channels = rewriter.sole_reader(node.output), output_channels(node)
    if reader is None or channels is None:
        return False
    affine = affine_of(reader, node.output, channels)
    if affine is None or not _take_in(rewriter, node, affine):
        return False
    rewriter.absorb(node, reader)
    return True


def _take_in(rewriter: Rewriter, node: Node, affine: Affine) -> bool:
    """Scales the sums through the weights, or through matmul's own scale where one number does; the bias takes in the rest."""
    weights, bias = node.inputs[1], node.input(BIAS)
    assert weights is not None
    by_attribute = node.op == "matmul" and affine.factor is not None and affine.factor.size == 1
    new_weights = weights
    if affine.factor is not None and not by_attribute:
        if not may_replace(rewriter, weights):
            return False
        scaled = rounded(rewriter, weights, doubles(weights) * by_output_channel(node, affine.factor))
        if scaled is None:
            return False
        new_weights = scaled
    if bias is not None or affine.shift is not None:
        new_bias = fused_bias(rewriter, node, affine)
        if new_bias is None:
            return False
        rewriter.set_input(node, BIAS, new_bias)
    rewriter.set_input(node, 1, new_weights)
    if by_attribute and affine.factor is not None:
        multiply_scale(node, float(affine.factor.reshape(())))
    return True
