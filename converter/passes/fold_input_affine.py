"""Folds per-channel multiplications and additions in front of a product (normalised pictures, say) into its weights and bias."""

from __future__ import annotations

import numpy as np

from ..ir import Node, Value
from .affine import Affine, affine_of, by_input_channel, fused_bias, may_replace, rounded
from .facts import BIAS, PRODUCTS, Channels, Doubles, doubles, input_channels, integer, integer_list, is_float, number, text
from .rewriter import Rewriter, on_every_graph


def _rewrite(rewriter: Rewriter) -> int:
    changes = 0
    for node in rewriter.nodes():
        if node.op in PRODUCTS and is_float(node.output):
            while _fold_operand(rewriter, node):
                changes += 1
    return changes


fold_input_affine = on_every_graph(_rewrite)


def _fold_operand(rewriter: Rewriter, node: Node) -> bool:
    operand, weights, channels = node.inputs[0], node.inputs[1], input_channels(node)
    if operand is None or weights is None or channels is None or not may_replace(rewriter, weights):
        return False
    found = _affine_behind(rewriter, operand, node, channels)
    if found is None:
        return False
    before, x, affine = found
    if not _take_in(rewriter, node, weights, affine):
        return affine.shift is not None and affine.factor is None and _swap(rewriter, node, before, x, affine.shift, channels)
    rewriter.set_input(node, 0, x)
    return True


def _affine_behind(rewriter: Rewriter, operand: Value, reader: Node, channels: Channels) -> tuple[Node, Value, Affine] | None:
    """The node that computes `operand`, for this reader alone, from a value of the same shape; that value; and the function."""
    node = operand.producer
    if node is None or rewriter.sole_reader(operand) is not reader:
        return None
    x = next((value for value in node.inputs if value is not None and not value.is_constant), None)
    if x is None or x.shape is None or operand.shape is None or len(x.shape) != len(operand.shape):
        return None
    if x.shape[channels.axis] != channels.size:
        return None
    affine = affine_of(node, x, channels)
    return None if affine is None else (node, x, affine)


def _swap(rewriter: Rewriter, node: Node, add: Node, scaled: Value, shift: Doubles, channels: Channels) -> bool:
    """Where padding forbids to fold the addition in a·x + b, the factor folds all the same: a·(x + b/a)."""
    found, weights = _affine_behind(rewriter, scaled, add, channels), node.inputs[1]
    if found is None or weights is None or found[2].shift is not None or found[2].factor is None or not np.all(found[2].factor):
        return False
    x, factor = found[1], found[2].factor
    shaped = np.broadcast_to(shift / factor, np.broadcast_shapes(shift.shape, factor.shape))
    like = Value(f"{add.output.name}.shift", add.output.dtype)
    new_shift = rounded(rewriter, like, np.asarray(shaped.reshape([-1] + [1] * (channels.rank - channels.axis - 1)), np.float64))
    if new_shift is None or not _take_in(rewriter, node, weights, Affine(factor=factor)):
        return False
    add.op = "add"
    rewriter.set_inputs(add, [x, new_shift])
    return True


def _take_in(rewriter: Rewriter, node: Node, weights: Value, affine: Affine) -> bool:
    factor = None if affine.factor is None else by_input_channel(node, affine.factor)
    new_weights = weights if factor is None else rounded(rewriter, weights, doubles(weights) * factor)
    if new_weights is None or (factor is None and affine.factor is not None):
        return False
    if affine.shift is not None:
        sums = _sums(node, weights, affine.shift)
        bias = None if sums is None else fused_bias(rewriter, node, Affine(shift=sums))
        if bias is None:
            return False
        rewriter.set_input(node, BIAS, bias)
    rewriter.set_input(node, 1, new_weights)
    return True


def _sums(node: Node, weights: Value, shift: Doubles) -> Doubles | None:
    """What a constant added to the operand contributes to each output channel. Padding must be absent: nothing is added to it."""
    shaped = by_input_channel(node, shift)
    if shaped is None:
        return None
    products = doubles(weights) * shaped
    if node.op == "matmul" and products.ndim == 2:
        return np.asarray(products.sum(axis=1 if integer(node, "trans_b") else 0) * number(node, "scale", 1.0), np.float64)
    unpadded = text(node, "auto_pad", "explicit") in {"explicit", "valid"} and not any(integer_list(node, "pads"))
    if node.op == "conv" and unpadded:
        return np.asarray(products.sum(axis=tuple(range(1, products.ndim))), np.float64)
    return None
