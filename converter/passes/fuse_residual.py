"""Lets a convolution or matmul add the tensor that is added to its result."""

from __future__ import annotations

from ..ir import Node, Value
from .facts import PRODUCTS, RESIDUAL, activation, is_float
from .rewriter import Rewriter, on_every_graph
from .shapes import ShapeProof


def _rewrite(rewriter: Rewriter) -> int:
    proof = ShapeProof(rewriter.graph)
    return sum(_fuse(rewriter, proof, node) for node in rewriter.nodes() if node.op == "add" and is_float(node.output))


fuse_residual = on_every_graph(_rewrite)


def _fuse(rewriter: Rewriter, proof: ShapeProof, add: Node) -> int:
    candidates = [
        (value.producer, other)
        for value, other in (add.inputs, add.inputs[::-1])
        if value and other and value.producer and _may_take(rewriter, proof, add, value, other)
    ]
    if not candidates:
        return 0
    product, other = candidates[0]
    for second, its_other in candidates[1:]:
        # One without an activation may take the next one in; the later one lets the earlier finish first.
        if (activation(second) == "none", rewriter.is_before(product, second)) > (activation(product) == "none", False):
            product, other = second, its_other
    rewriter.set_input(product, RESIDUAL, other)
    product.attributes["residual"] = "before" if activation(product) == "none" else "after"
    if other.producer is not None and not rewriter.is_before(other.producer, product):
        rewriter.move(product, before=add)
    rewriter.absorb(product, add)
    return 1


def _may_take(rewriter: Rewriter, proof: ShapeProof, add: Node, value: Value, other: Value) -> bool:
    """Whether the product that computes `value` may add `other`, which must have just the same shape."""
    product = value.producer
    if product is None or product.op not in PRODUCTS or product.outputs[0] is not value:
        return False
    if product.input(RESIDUAL) is not None or rewriter.sole_reader(value) is not add:
        return False
    return other.dtype == value.dtype and proof.same(value, other)
