"""ONNX Runtime's ops on weights quantised in blocks: the weights stay narrow in the file, in types of their own width."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..ir import Value
from ..tensors import Array
from .foreign import MICROSOFT
from .node import OnnxNode
from .registry import lowers

_UINT8 = int(TensorProto.UINT8)
_UNSIGNED = {2: getattr(TensorProto, "UINT2", TensorProto.UINT8), 4: TensorProto.UINT4, 8: TensorProto.UINT8}


@lowers("MatMulNBits", domain=MICROSOFT)
def matmul_nbits(node: OnnxNode) -> Value:
    if node.input(4) is not None:
        raise node.unsupported("the operand g_idx", "quantise the model without reordering its weights")
    if node.integer("weight_prepacked"):
        raise node.unsupported(f"weight_prepacked={node.integer('weight_prepacked')}", "weights in a GPU's layout cannot be read")
    a, scales = node.operand(0), node.operand(2)
    columns, depth, block = node.integer("N"), node.integer("K"), node.integer("block_size")
    if min(columns, depth, block) < 1:
        raise node.invalid(f"N is {columns}, K is {depth} and block_size is {block}; they must be positive")
    blocks = -(-depth // block)
    packed = _stored(node, 1, columns * blocks * block * _bits(node) // 8).reshape(columns, -1)
    levels = _unpacked(packed, _bits(node))[:, :depth]
    scale = node.emit("reshape", [scales, node.int64s([columns, blocks])], allow_zero=0)
    weights = _dequantised(node, levels, scale, blocks)
    return node.emit("matmul", [a, weights, node.input(5)], trans_a=0, trans_b=1)


def _bits(node: OnnxNode) -> int:
    bits = node.integer("bits")
    if bits not in _UNSIGNED:
        raise node.unsupported(f"weights of {bits} bits", f"the widths that can be read are {sorted(_UNSIGNED)}")
    return bits


def _stored(node: OnnxNode, index: int, size: int | None = None) -> Array:
    """Operand `index`, which must be stored in the model as uint8."""
    value = node.operand(index)
    if value.constant is None:
        raise node.unsupported(f"operand {index} is computed; packed weights must be stored in the model")
    if value.dtype != _UINT8 or (size is not None and value.constant.size != size):
        raise node.invalid(f"operand {index} has the shape {value.shape}, which does not suit K, N, bits and block_size")
    return value.constant


def _unpacked(packed: Array, bits: int) -> Array:
    """The last axis with each byte taken apart, low bits first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    parts: Array = np.right_shift(packed[..., None].astype(np.uint8), shifts) & np.uint8(2**bits - 1)
    return parts.reshape(*packed.shape[:-1], -1)


def _dequantised(node: OnnxNode, levels: Array, scale: Value, blocks: int) -> Value:
    """MatMulNBits' weights [N, K] in the type of its scales [N, blocks]."""
    bits, block, dtype = _bits(node), node.integer("block_size"), node.dtype(scale)
    columns, depth = levels.shape
    zeros = node.input(3)
    kind = int(_UNSIGNED[bits])
    if zeros is not None and node.dtype(zeros) != _UINT8:  # zero points between the levels
        wide = np.zeros((columns, blocks * block), np.uint8)
        wide[:, :depth] = levels
        real = node.emit("cast", [node.constant(wide.reshape(columns, blocks, block), kind)], to=dtype, saturate=1)
        zero = node.emit("reshape", [zeros, node.int64s([columns, blocks, 1])], allow_zero=0)
        scale = node.emit("reshape", [scale, node.int64s([columns, blocks, 1])], allow_zero=0)
        flat = node.emit("mul", [node.emit("sub", [real, zero]), scale])
        flat = node.emit("reshape", [flat, node.int64s([columns, blocks * block])], allow_zero=0)
        return node.emit("slice", [flat, node.int64s([0]), node.int64s([depth]), node.int64s([1])])
    if zeros is None:
        points: Array = np.full((columns, blocks), 2 ** (bits - 1), np.uint8)
    else:
        points = _unpacked(_stored(node, 3).reshape(columns, -1), bits)[:, :blocks]
    operands = [node.constant(levels, kind), scale, node.constant(points, kind)]
    return node.emit("dequantize", operands, axis=1, block=block, to=dtype, saturate=1)


@lowers("GatherBlockQuantized", domain=MICROSOFT)
def gather_block_quantised(node: OnnxNode) -> Value:
    data, indices, scales, zeros = node.operand(0), node.operand(1), node.operand(2), node.input(3)
    rank = node.rank(data)
    gathered, quantised = node.axis(node.integer("gather_axis"), rank), node.axis(node.integer("quantize_axis"), rank)
    if gathered == quantised:
        raise node.unsupported("gather_axis equal to quantize_axis")
    if node.dtype(data) == _UINT8:
        kind = int(_UNSIGNED[_bits(node)])
        data = node.constant(_unpacked(_stored(node, 0), _bits(node)), kind)
        shape = scales.shape
        if zeros is not None:
            points = _unpacked(_stored(node, 3), _bits(node))
            length = shape[-1] if shape is not None and isinstance(shape[-1], int) else points.shape[-1]
            zeros = node.constant(points[..., :length], kind)
        elif shape is not None and all(isinstance(dim, int) for dim in shape):
            zeros = node.constant(np.full([dim for dim in shape if isinstance(dim, int)], 2 ** (_bits(node) - 1)), kind)
        else:
            raise node.unsupported("scales of unknown shape")
    parts = [node.emit("gather", [each, indices], axis=gathered) for each in (data, scales, zeros) if each is not None]
    axis = quantised + (node.rank(indices) - 1 if quantised > gathered else 0)
    return node.emit("dequantize", parts, axis=axis, block=node.integer("block_size"), to=node.dtype(scales), saturate=1)
