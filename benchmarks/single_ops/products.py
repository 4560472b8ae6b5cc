"""Matrix products: with weights, of two inputs, of integers, with what follows them, and attention spelled out."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto

from single_ops.case import Case, Drawn, floats, integers, node, number, size_name, sizes


def _matmul(rows: int, inner: int, columns: int) -> Case:
    weights = floats(inner, columns, scale=0.1)
    return Case(f"matmul {rows}x{inner}x{columns}", [node("MatMul", "x, w")], {"x": floats(rows, inner)}, {"w": weights})


def _batched(batch: int, rows: int, inner: int, columns: int) -> Case:
    inputs = {"x": floats(batch, rows, inner), "z": floats(batch, inner, columns)}
    return Case(f"matmul of inputs {batch} times {rows}x{inner}x{columns}", [node("MatMul", "x, z")], inputs)


def _of_bytes(rows: int, inner: int, columns: int) -> Case:
    inputs, weights = {"x": integers(rows, inner, dtype=np.uint8)}, {"w": integers(inner, columns, dtype=np.uint8)}
    return Case(f"matmul of uint8 {rows}x{inner}x{columns}", [node("MatMulInteger", "x, w")], inputs, weights)


def _gelu(rows: int, inner: int, columns: int) -> Case:
    return Case(
        f"matmul, add, gelu {rows}x{inner}x{columns}",
        [node("MatMul", "x, w", "a"), node("Add", "a, b", "c"), node("Gelu", "c")],
        {"x": floats(rows, inner)},
        {"w": floats(inner, columns, scale=inner**-0.5), "b": floats(columns)},
    )


def _attention(length: int, width: int, heads: int) -> Case:
    """Projections, softmax of scaled scores, and the values' mixture, as PyTorch exports them."""
    nodes: list[NodeProto] = []
    weights: dict[str, Drawn] = {}
    for part, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        weights[f"{part}_weights"] = floats(width, width, scale=width**-0.5)
        nodes += [
            node("MatMul", f"x, {part}_weights", f"{part}_rows"),
            node("Reshape", f"{part}_rows, split", f"{part}_heads"),
            node("Transpose", f"{part}_heads", part, perm=order),
        ]
    nodes += [
        node("MatMul", "q, k", "products"),
        node("Mul", "products, scale", "scores"),
        node("Softmax", "scores", "shares", axis=-1),
        node("MatMul", "shares, v", "mixed"),
        node("Transpose", "mixed", "rows", perm=[0, 2, 1, 3]),
        node("Reshape", "rows, join"),
    ]
    fixed = {
        "split": sizes(1, length, heads, width // heads),
        "join": sizes(1, length, width),
        "scale": number((width // heads) ** -0.5),
    }
    name = f"attention spelled out {size_name((length, width))} in {heads} heads"
    return Case(name, nodes, {"x": floats(1, length, width)}, {**weights, **fixed})


CASES = [
    _matmul(1, 2048, 2048),
    _matmul(1, 512, 1000),
    _matmul(49, 1024, 1024),
    _matmul(128, 32, 128),
    _matmul(128, 384, 384),
    _matmul(784, 32, 192),
    _matmul(196, 1024, 256),
    _batched(12, 128, 64, 128),
    _batched(12, 128, 128, 64),
    _of_bytes(128, 384, 1536),
    Case(
        "gemm 32x512x1000 with transposed weights and bias",
        [node("Gemm", "x, w, b", transB=1)],
        {"x": floats(32, 512)},
        {"w": floats(1000, 512, scale=0.1), "b": floats(1000)},
    ),
    _gelu(128, 384, 1536),
    _attention(128, 384, 12),
    _attention(512, 512, 8),
]
