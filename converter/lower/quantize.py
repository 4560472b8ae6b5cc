"""Quantisation. Weights that a model stores as integers stay integers: their dequantize node stays in the graph."""

from __future__ import annotations

from onnx import TensorProto

from ..ir import Attribute, Value
from .foreign import MICROSOFT
from .node import OnnxNode
from .registry import lowers


@lowers("QuantizeLinear")
@lowers("QuantizeLinear", domain=MICROSOFT)
def quantize_linear(node: OnnxNode) -> Value:
    zero_point = node.input(2)
    to = node.integer("output_dtype") if node.has("output_dtype") else 0
    if zero_point is not None:
        to = node.dtype(zero_point)
    precision = node.integer("precision") if node.has("precision") else 0
    return _emit(node, "quantize", to or int(TensorProto.UINT8), **({"precision": precision} if precision else {}))


@lowers("DequantizeLinear")
@lowers("DequantizeLinear", domain=MICROSOFT)
def dequantize_linear(node: OnnxNode) -> Value:
    to = node.integer("output_dtype") if node.has("output_dtype") else 0
    return _emit(node, "dequantize", to or node.dtype(node.operand(1)))


def _emit(node: OnnxNode, op: str, to: int, **attributes: Attribute) -> Value:
    return node.emit(
        op,
        [node.operand(0), node.operand(1), node.input(2)],
        # Before opset 13 there was one scale for the whole tensor.
        axis=node.integer("axis") if node.has("axis") else 1,
        block=node.integer("block_size") if node.has("block_size") else 0,
        to=to,
        saturate=node.integer("saturate") if node.has("saturate") else 1,
        **attributes,
    )
