"""Ops that pick or place elements by index."""

from __future__ import annotations

from ..ir import Value
from .node import OnnxNode
from .registry import lowers


@lowers("Gather")
def gather(node: OnnxNode) -> Value:
    return node.emit("gather", [node.operand(0), node.operand(1)], axis=node.integer("axis"))


@lowers("GatherElements")
def gather_elements(node: OnnxNode) -> Value:
    return node.emit("gather_elements", [node.operand(0), node.operand(1)], axis=node.integer("axis"))


@lowers("GatherND")
def gather_nd(node: OnnxNode) -> Value:
    batch_dims = node.integer("batch_dims") if node.has("batch_dims") else 0
    return node.emit("gather_nd", [node.operand(0), node.operand(1)], batch_dims=batch_dims)


# Scatter is the name that ScatterElements had before opset 11.
@lowers("Scatter", "ScatterElements")
def scatter_elements(node: OnnxNode) -> Value:
    operands = [node.operand(0), node.operand(1), node.operand(2)]
    return node.emit("scatter_elements", operands, axis=node.integer("axis"), reduction=_reduction(node))


@lowers("ScatterND")
def scatter_nd(node: OnnxNode) -> Value:
    return node.emit("scatter_nd", [node.operand(0), node.operand(1), node.operand(2)], reduction=_reduction(node))


def _reduction(node: OnnxNode) -> str:
    return node.text("reduction") if node.has("reduction") else "none"


@lowers("NonZero")
def non_zero(node: OnnxNode) -> Value:
    return node.emit("non_zero", [node.operand(0)])
