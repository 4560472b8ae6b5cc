"""Computes what 16 bits are too few for in float32: where steps between operand and result leave the range, or lose digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnx import TensorProto

from ..ir import Value
from .node import OnnxNode


def in_float32(node: OnnxNode, operands: Sequence[Value], compute: Callable[[Sequence[Value]], Value]) -> Value:
    """compute(operands), by way of float32 if they have 16 bits; wider operands are left as they are."""
    dtype = node.dtype(operands[0])
    if dtype not in (TensorProto.FLOAT16, TensorProto.BFLOAT16):
        return compute(operands)
    wide = [node.emit("cast", [operand], to=int(TensorProto.FLOAT), saturate=1) for operand in operands]
    return node.emit("cast", [compute(wide)], to=dtype, saturate=1)
