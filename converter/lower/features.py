"""Features for classical machine learning: picked columns, thresholds, and counts of n-grams."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from onnx import TensorProto

from ..ir import Value
from .elementwise import cast_to
from .node import Array, OnnxNode
from .registry import lowers

_FLOAT = int(TensorProto.FLOAT)
_INT64 = int(TensorProto.INT64)
_TO_THE_END = int(np.iinfo(np.int64).max)


@lowers("ArrayFeatureExtractor", domain="ai.onnx.ml")
def array_feature_extractor(node: OnnxNode) -> Value:
    """A list gives a matrix of one row."""
    x = node.operand(0)
    indices = node.emit("reshape", [node.operand(1), node.int64s([-1])], allow_zero=0)
    picked = node.emit("gather", [x, indices], axis=-1)
    return node.emit("unsqueeze", [picked, node.int64s([0])]) if node.rank(x) == 1 else picked


@lowers("Binarizer", domain="ai.onnx.ml")
def binarizer(node: OnnxNode) -> Value:
    x = node.operand(0)
    dtype = node.dtype(x)
    return cast_to(node, node.emit("greater", [x, node.constant(node.number("threshold"), dtype)]), dtype)


@lowers("TfIdfVectorizer")
def tf_idf_vectorizer(node: OnnxNode) -> Value:
    """Compares every window of the rows with every n-gram of its length, for every distance between items that may be skipped."""
    pool = node.integers("pool_int64s")
    if not pool:
        raise node.unsupported("n-grams of strings, which have no place in the runtime")
    indexes = node.integers("ngram_indexes") or []
    if not indexes or min(indexes) < 0:
        raise node.invalid("ngram_indexes names no coordinate, or a negative one")
    x = node.operand(0)
    rank = node.rank(x)
    if rank not in (1, 2):
        raise node.invalid(f"x has {rank} dimensions; 1 or 2 are wanted")
    x = node.emit("cast", [x], to=_INT64, saturate=1)
    rows = x if rank == 2 else node.emit("unsqueeze", [x, node.int64s([0])])
    width = max(indexes) + 1
    counts: Value | None = None
    for length, grams, targets in _grams(node, np.array(pool, np.int64), indexes):
        placed = np.zeros((len(grams), width), np.float32)
        placed[np.arange(len(grams)), targets] = 1
        # A single item skips nothing.
        for distance in range(1, node.integer("max_skip_count") + 2 if length > 1 else 2):
            found = _found(node, rows, grams, distance)
            found = node.emit("matmul", [found, node.constant(placed, _FLOAT)], trans_a=0, trans_b=0)
            counts = found if counts is None else node.emit("add", [counts, found])
    if counts is None:
        batch = node.emit("concat", [node.emit("shape", [rows], start=0, end=1), node.int64s([width])], axis=0)
        counts = node.emit("constant_of_shape", [batch, node.constant([0], _FLOAT)])
    scores = _weighted(node, counts, width)
    return scores if rank == 2 else node.emit("squeeze", [scores, node.int64s([0])])


def _grams(node: OnnxNode, pool: Array, indexes: list[int]) -> list[tuple[int, Array, list[int]]]:
    """Length, n-grams [count, length] and their coordinates; of equal n-grams the last."""
    starts = [*(node.integers("ngram_counts") or []), len(pool)]
    if starts != sorted(starts) or min(starts) < 0:
        raise node.invalid(f"ngram_counts is {starts[:-1]}, which does not cut a pool of {len(pool)} items into parts")
    groups: list[tuple[int, Array, list[int]]] = []
    first = 0
    for length, (start, end) in enumerate(pairwise(starts), 1):
        count = (end - start) // length
        if first + count > len(indexes):
            raise node.invalid(f"ngram_indexes has {len(indexes)} coordinates, fewer than there are n-grams")
        if count and node.integer("min_gram_length") <= length <= node.integer("max_gram_length"):
            part = pool[start : start + count * length].reshape(count, length)
            last = {tuple(gram): target for gram, target in zip(part.tolist(), indexes[first : first + count])}
            groups.append((length, np.array(list(last), np.int64), list(last.values())))
        first += count
    return groups


def _found(node: OnnxNode, rows: Value, grams: Array, distance: int) -> Value:
    """How often each n-gram lies in each row, its items so far apart."""
    length = grams.shape[1]
    same: Value | None = None
    for index in range(length):
        left = distance * (length - 1 - index)
        bounds = [node.int64s([distance * index]), node.int64s([-left if left else _TO_THE_END]), node.int64s([1])]
        items = node.emit("unsqueeze", [node.emit("slice", [rows, *bounds]), node.int64s([2])])
        equal = node.emit("equal", [items, node.constant(grams[:, index], _INT64)])
        same = equal if same is None else node.emit("and", [same, equal])
    numbers = node.emit("cast", [same], to=_FLOAT, saturate=1)
    return node.emit("reduce", [numbers, node.int64s([1])], kind="sum", keep_dims=0, noop_with_empty_axes=0)


def _weighted(node: OnnxNode, counts: Value, width: int) -> Value:
    mode, weights = node.text("mode"), node.numbers("weights")
    if mode not in ("TF", "IDF", "TFIDF"):
        raise node.invalid(f"mode is '{mode}', which is not among IDF, TF and TFIDF")
    if mode == "TF":
        return counts
    if mode == "IDF":
        counts = node.emit("min", [counts, node.constant(1, _FLOAT)])
    if not weights:
        return counts
    if len(weights) < width:
        raise node.invalid(f"{len(weights)} weights are given for {width} coordinates")
    return node.emit("mul", [counts, node.constant(np.array(weights[:width]), _FLOAT)])
