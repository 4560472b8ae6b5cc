"""ONNX's Attention in its common form: one matrix product for each group of heads, and one bias made of all masks."""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto

from ..ir import Value
from .attention_parts import INT64, Heads, column, merge_heads, positions, softmax, split_heads
from .integers import cast
from .node import OnnxNode
from .registry import Result, lowers
from .sizes import Size, size_of, vector

_WIDE = {TensorProto.FLOAT, TensorProto.DOUBLE}


@lowers("Attention", since=23)
def attention(node: OnnxNode) -> Result:
    """What depends on the version (the order of softcap and mask, which scores are shown) is left to the function's body."""
    heads, size = _heads(node), _head_size(node)
    if node.number("softcap") != 0 or node.wants(3) or heads is None or size is None:
        return node.expand_function()
    q, k, v = (node.operand(index) for index in range(3))
    flat = node.rank(q) == 3
    if flat:
        q, k, v = (split_heads(node, x, count) for x, count in ((q, heads.queries), (k, heads.keys), (v, heads.keys)))
    past = [node.input(index) for index in (4, 5)]
    before: Size = 0
    if past[0] is not None and past[1] is not None:
        before = size_of(node, past[0], 2)
        k, v = (node.emit("concat", [old, new], axis=2) for old, new in zip(past, (k, v), strict=True))
    scale = node.number("scale") if node.has("scale") else 1 / math.sqrt(size)
    dtype = node.dtype(q)
    if dtype in _WIDE:
        scores = heads.scores(node, q, k, scale)
    else:  # as ONNX has it, both are scaled and rounded
        factor = node.constant(np.asarray(math.sqrt(scale)), dtype)
        scores = heads.scores(node, node.emit("mul", [q, factor]), node.emit("mul", [k, factor]), 1.0)
    bias, may_hide_all = _bias(node, q, k, before)
    if bias is not None:
        scores = node.emit("add", [scores, bias])
    precision = node.integer("softmax_precision") if node.has("softmax_precision") else 0
    weights = cast(node, softmax(node, cast(node, scores, precision) if precision else scores), dtype)
    y = heads.weighted(node, weights, v)
    if bias is not None and may_hide_all:
        # Where a query may see no key, softmax has nothing to share out.
        most = node.emit("reduce", [bias, node.int64s([-1])], kind="max", keep_dims=1, noop_with_empty_axes=0)
        hidden = node.emit("equal", [most, node.constant(-np.inf, dtype)])
        y = node.emit("where", [hidden, node.constant(0, dtype), y])
    return [merge_heads(node, y) if flat else y, k, v]


def _heads(node: OnnxNode) -> Heads | None:
    """None if the numbers of heads are not known."""
    counts: list[Size]
    if node.rank(node.operand(0)) == 3:
        if not node.has("q_num_heads") or not node.has("kv_num_heads"):
            raise node.invalid("q_num_heads and kv_num_heads are missing, which operands of 3 dimensions need")
        counts = [node.integer("q_num_heads"), node.integer("kv_num_heads")]
    else:
        counts = [size_of(node, node.operand(index), 1) for index in range(2)]
    queries, keys = counts
    return Heads(queries, keys) if isinstance(queries, int) and isinstance(keys, int) and keys > 0 else None


def _head_size(node: OnnxNode) -> int | None:
    q = node.operand(0)
    width = size_of(node, q, node.rank(q) - 1)
    if not isinstance(width, int) or width == 0:
        return None
    return width // max(node.integer("q_num_heads"), 1) if node.rank(q) == 3 else width


def _bias(node: OnnxNode, q: Value, k: Value, before: Size) -> tuple[Value | None, bool]:
    """What is added to the scores: 0 or the mask where a query may see a key, else −∞; and whether it may see none."""
    mask, lengths, dtype = node.input(3), node.input(6), node.dtype(q)
    total, may_hide_all = size_of(node, k, 2), mask is not None or lengths is not None
    conditions: list[Value] = []
    added: Value | None = None
    if mask is not None:
        mask = _as_long_as(node, mask, total)
        if node.dtype(mask) == TensorProto.BOOL:
            conditions.append(mask)
        else:
            added = mask
    keys, ends = positions(node, total), None
    if lengths is not None:
        ends = node.emit("unsqueeze", [cast(node, lengths, INT64), node.int64s([1, 2, 3])])
        conditions.append(node.emit("less", [keys, ends]))
    limits = [node.integer(name) if node.has(name) else -1 for name in ("left_window_size", "right_window_size")]
    if node.integer("is_causal") or max(limits) >= 0:
        rows = column(node, positions(node, size_of(node, q, 2)))
        if ends is not None and node.input(4) is None:
            rows = node.emit("add", [rows, node.emit("sub", [ends, vector(node, [size_of(node, q, 2)])])])
        elif before != 0:
            rows = node.emit("add", [rows, vector(node, [before])])
        may_hide_all = may_hide_all or max(limits) >= 0
        if node.integer("is_causal"):
            conditions.append(node.emit("less_equal", [keys, rows]))
        if limits[0] >= 0:
            conditions.append(node.emit("greater_equal", [keys, node.emit("sub", [rows, node.int64s([limits[0]])])]))
        if limits[1] >= 0:
            conditions.append(node.emit("less_equal", [keys, node.emit("add", [rows, node.int64s([limits[1]])])]))
    if not conditions:
        return added, may_hide_all
    allowed, *rest = conditions
    for condition in rest:
        allowed = node.emit("and", [allowed, condition])
    shown = node.constant(0, dtype) if added is None else added
    return node.emit("where", [allowed, shown, node.constant(-np.inf, dtype)]), may_hide_all


def _as_long_as(node: OnnxNode, mask: Value, total: Size) -> Value:
    """The mask; keys beyond its end are hidden."""
    length = size_of(node, mask, node.rank(mask) - 1)
    if isinstance(length, int) and isinstance(total, int):
        missing: Value | None = node.int64s([total - length]) if length < total else None
    else:
        difference = node.emit("sub", [vector(node, [total]), vector(node, [length])])
        missing = node.emit("max", [difference, node.int64s([0])])
    if missing is None:
        return mask
    dtype = node.dtype(mask)
    hidden = node.constant(False if dtype == TensorProto.BOOL else -np.inf, dtype)
    pads = node.emit("concat", [node.int64s([0]), missing], axis=0)
    return node.emit("pad", [mask, pads, hidden, node.int64s([-1])], mode="constant")
