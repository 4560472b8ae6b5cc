"""ONNX Runtime's GroupQueryAttention: what language models run, with a cache, rotary positions and local windows."""

from __future__ import annotations

from ..ir import Value
from .attention_parts import (
    INT64,
    Heads,
    bias_where,
    capped,
    divided,
    lowest,
    merge_heads,
    placed,
    positions,
    softmax,
    split_heads,
)
from .foreign import MICROSOFT
from .microsoft_norm import rms_norm
from .node import OnnxNode
from .registry import lowers
from .rotary import rotate
from .sizes import product, size_of, vector


@lowers("GroupQueryAttention", domain=MICROSOFT)
def group_query_attention(node: OnnxNode) -> list[Value | None]:
    _refuse(node)
    heads = Heads(node.integer("num_heads"), node.integer("kv_num_heads"))
    q, k, v = _projections(node, heads)
    dtype, length = node.dtype(q), size_of(node, q, 2)
    # The keys that each row will have had, and the position of its first new one: 0 in a first prompt, which may be padded.
    counts = node.emit("reshape", [_int64(node, node.operand(5)), node.int64s([-1])], allow_zero=0)
    counts = node.emit("add", [counts, node.int64s([1])])
    starts = node.emit("max", [node.emit("sub", [counts, vector(node, [length])]), node.int64s([0])])
    own = node.emit("add", [_unsqueezed(node, starts, [1]), positions(node, length)])  # [batch, length]
    if node.integer("do_rotary") == 1:
        q, k = _rotated(node, q, k, own)
    key_cache, value_cache = (_cached(node, node.input(index), new, own) for index, new in ((3, k), (4, v)))

    keys, values, bias = key_cache, value_cache, node.input(10)
    if bias is not None:  # which says how much of a longer cache is in use
        end = vector(node, [size_of(node, bias, 3)])
        keys, values = (node.emit("slice", [each, node.int64s([0]), end, node.int64s([2])]) for each in (keys, values))
    scale = node.number("scale") if node.has("scale") and node.number("scale") != 0 else None
    scores = capped(node, heads.scores(node, q, keys, scale), node.number("softcap"))
    allowed = _unsqueezed(node, _allowed(node, own, counts, positions(node, size_of(node, keys, 2))), [1])
    scores = node.emit("add", [scores, bias_where(node, allowed, lowest(dtype), dtype)])
    if bias is not None:
        scores = node.emit("add", [scores, bias])
    weights = softmax(node, scores, _sink(node, dtype))
    y = merge_heads(node, heads.weighted(node, weights, values))
    return [y, key_cache, value_cache, weights if node.integer("qk_output") == 2 else scores]


def _refuse(node: OnnxNode) -> None:
    for name in ("kv_cache_bit_width", "sliding_window_cache"):
        if node.integer(name):
            raise node.unsupported(f"{name}={node.integer(name)}")
    for index, name in ((12, "k_scale"), (13, "v_scale"), (16, "query_seqlens")):
        if node.input(index) is not None:
            raise node.unsupported(f"the operand {name}")


def _int64(node: OnnxNode, x: Value) -> Value:
    return node.emit("cast", [x], to=INT64, saturate=1)


def _unsqueezed(node: OnnxNode, x: Value, axes: list[int]) -> Value:
    return node.emit("unsqueeze", [x, node.int64s(axes)])


def _projections(node: OnnxNode, heads: Heads) -> tuple[Value, Value, Value]:
    """Queries, keys and values as [batch, heads, length, size], normalised if there are weights for that."""
    query, key, value = node.operand(0), node.input(1), node.input(2)
    if key is None or value is None:
        each = divided(node, size_of(node, query, 2), heads.queries + 2 * heads.keys)
        sizes = vector(node, [product(node, [each, count]) for count in (heads.queries, heads.keys, heads.keys)])
        query, key, value = (part for part in node.emit_results("split", [query, sizes], [True] * 3, axis=2) if part is not None)
    q, k = split_heads(node, query, heads.queries), split_heads(node, key, heads.keys)
    for index, name in ((14, "q_norm_epsilon"), (15, "k_norm_epsilon")):
        weight = node.input(index)
        if weight is not None:
            epsilon = node.number(name if node.has(name) else "qk_norm_epsilon")
            q, k = (rms_norm(node, q, weight, 3, epsilon)[0], k) if index == 14 else (q, rms_norm(node, k, weight, 3, epsilon)[0])
    return q, k, split_heads(node, value, heads.keys)


def _rotated(node: OnnxNode, q: Value, k: Value, own: Value) -> tuple[Value, Value]:
    given = node.input(9)
    places = own if given is None else _int64(node, given)
    angles = [node.emit("gather", [node.operand(index), places], axis=0) for index in (7, 8)]
    interleaved = node.integer("rotary_interleaved") == 1
    return rotate(node, q, angles[0], angles[1], interleaved), rotate(node, k, angles[0], angles[1], interleaved)


def _cached(node: OnnxNode, past: Value | None, new: Value, own: Value) -> Value:
    """The past with the new keys or values at their positions, as long as it was or longer if they need more room."""
    if past is None:
        return new
    old = size_of(node, past, 2)
    total = node.emit("reshape", [_int64(node, node.operand(6)), node.int64s([1])], allow_zero=0)
    growth = node.emit("max", [node.emit("sub", [total, vector(node, [old])]), node.int64s([0])])
    wide = node.emit(
        "pad", [past, node.emit("concat", [node.int64s([0]), growth], axis=0), None, node.int64s([2])], mode="constant"
    )
    return placed(node, wide, new, _unsqueezed(node, own, [1, 3]))


def _allowed(node: OnnxNode, own: Value, counts: Value, keys: Value) -> Value:
    """[batch, length, total]: which keys each query may see."""
    if not node.integer("causal"):
        return node.emit("less", [keys, _unsqueezed(node, counts, [1, 2])])
    rows = _unsqueezed(node, own, [2])
    allowed = node.emit("less_equal", [keys, rows])
    window = node.integer("local_window_size")
    if window < 0:
        return allowed
    return node.emit("and", [allowed, node.emit("greater", [keys, node.emit("sub", [rows, node.int64s([window])])])])


def _sink(node: OnnxNode, dtype: int) -> Value | None:
    """The score of the key without a value: one for each head, or 0."""
    given = node.input(11)
    if given is not None:
        return node.emit("reshape", [given, node.int64s([1, -1, 1, 1])], allow_zero=0)
    return node.constant([[[[0]]]], dtype) if node.integer("smooth_softmax") == 1 else None
