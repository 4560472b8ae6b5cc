"""What attention is made of: heads, positions, masks as biases, and the two products around softmax."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from ..ir import Attribute, Value
from .node import OnnxNode
from .sizes import Size, product, reshape, scalar, size_of, vector

INT64 = int(TensorProto.INT64)


def divided(node: OnnxNode, size: Size, by: int) -> Size:
    """The size divided by a number that must divide it."""
    if by < 1:
        raise node.invalid(f"the number of heads is {by}; it must be at least 1")
    if not isinstance(size, int):
        return node.emit("div", [size, node.int64s([by])])
    if size % by != 0:
        raise node.invalid(f"{size} channels cannot be divided among {by} heads")
    return size // by


def split_heads(node: OnnxNode, x: Value, heads: int) -> Value:
    """[batch, length, heads · size] as [batch, heads, length, size]."""
    sizes = [size_of(node, x, 0), size_of(node, x, 1), heads, divided(node, size_of(node, x, 2), heads)]
    return node.emit("transpose", [reshape(node, x, sizes)], perm=[0, 2, 1, 3])


def merge_heads(node: OnnxNode, x: Value) -> Value:
    """[batch, heads, length, size] as [batch, length, heads · size]."""
    sizes = [size_of(node, x, axis) for axis in range(4)]
    y = node.emit("transpose", [x], perm=[0, 2, 1, 3])
    return reshape(node, y, [sizes[0], sizes[2], product(node, [sizes[1], sizes[3]])])


def positions(node: OnnxNode, size: Size) -> Value:
    """0, 1 … size − 1."""
    return node.emit("range", [node.int64s(0), scalar(node, size), node.int64s(1)])


def column(node: OnnxNode, vector: Value) -> Value:
    """The vector as a matrix of one column."""
    return node.emit("unsqueeze", [vector, node.int64s([1])])


def lowest(dtype: int) -> float:
    """A finite number that is as low as any score, and nearly the lowest of the type."""
    return -65504.0 if dtype == TensorProto.FLOAT16 else -3.3e38


def bias_where(node: OnnxNode, allowed: Value, refusal: float, dtype: int) -> Value:
    """0 where attention is allowed, else the refusal."""
    return node.emit("where", [allowed, node.constant(0, dtype), node.constant(refusal, dtype)])


def causal(node: OnnxNode, length: Size, past: Size, total: Size) -> Value:
    """Whether a query [length, 1] may see a key [total]: those before it and itself."""
    rows = positions(node, length)
    if past != 0:
        rows = node.emit("add", [rows, node.int64s([past]) if isinstance(past, int) else past])
    return node.emit("less_equal", [positions(node, total), column(node, rows)])


def added(node: OnnxNode, *terms: Value | None) -> Value | None:
    """The sum of the terms that there are."""
    total: Value | None = None
    for term in terms:
        if term is not None:
            total = term if total is None else node.emit("add", [total, term])
    return total


def placed(node: OnnxNode, cache: Value, new: Value, places: Value) -> Value:
    """The cache [batch, heads, total, size] with new rows at places, which broadcast to [batch, heads, length, size]."""
    shape = vector(node, [size_of(node, new, axis) for axis in range(4)])
    return node.emit("scatter_elements", [cache, node.emit("expand", [places, shape]), new], axis=2, reduction="none")


@dataclass(frozen=True)
class Heads:
    """How many heads queries have, and keys and values, each of which serves a group of neighbouring query heads."""

    queries: int
    keys: int

    def scores(self, node: OnnxNode, q: Value, k: Value, scale: float | None) -> Value:
        """q · kᵀ · scale (default: 1 / √head size), as [batch, query heads, length, total]."""
        attributes: dict[str, Attribute] = {"trans_a": 0, "trans_b": 1}
        size = size_of(node, q, 3)
        if scale is not None:
            attributes["scale"] = scale
        elif isinstance(size, int):
            attributes["scale"] = 1 / math.sqrt(size)
        result = node.emit("matmul", [self._grouped(node, q), k], **attributes)
        if "scale" not in attributes:
            assert isinstance(size, Value)
            wide = node.emit("cast", [scalar(node, size)], to=node.dtype(q), saturate=1)
            result = node.emit("div", [result, node.emit("sqrt", [wide])])
        return self._ungrouped(node, result, q)

    def weighted(self, node: OnnxNode, weights: Value, v: Value) -> Value:
        """weights · v, as [batch, query heads, length, size]."""
        result = node.emit("matmul", [self._grouped(node, weights), v], trans_a=0, trans_b=0)
        return self._ungrouped(node, result, weights)

    def _grouped(self, node: OnnxNode, x: Value) -> Value:
        """The heads of a group one below the other, so that one matrix product serves them all."""
        if self.queries == self.keys:
            return x
        if self.keys < 1 or self.queries % self.keys != 0:
            raise node.invalid(f"{self.queries} heads of queries cannot be divided among {self.keys} heads of keys")
        rows = product(node, [self.queries // self.keys, size_of(node, x, 2)])
        return reshape(node, x, [size_of(node, x, 0), self.keys, rows, size_of(node, x, 3)])

    def _ungrouped(self, node: OnnxNode, y: Value, like: Value) -> Value:
        if self.queries == self.keys:
            return y
        return reshape(node, y, [size_of(node, like, 0), self.queries, size_of(node, like, 2), size_of(node, y, 3)])


def softmax(node: OnnxNode, scores: Value, sink: Value | None = None) -> Value:
    """Softmax over the keys. A sink [.., 1] takes part in it as one more key that has no value."""
    if sink is None:
        return node.emit("softmax", [scores], axis=-1)
    shape = node.emit("concat", [node.emit("shape", [scores], start=0, end=-1), node.int64s([1])], axis=0)
    wide = node.emit("concat", [scores, node.emit("expand", [sink, shape])], axis=-1)
    return node.emit("slice", [node.emit("softmax", [wide], axis=-1), node.int64s([0]), node.int64s([-1]), node.int64s([-1])])


def capped(node: OnnxNode, scores: Value, softcap: float) -> Value:
    """softcap · tanh(scores / softcap); 0 or less leaves the scores as they are."""
    if softcap <= 0:
        return scores
    cap = node.constant(np.asarray(softcap), node.dtype(scores))
    return node.emit("mul", [node.emit("tanh", [node.emit("div", [scores, cap])]), cap])
