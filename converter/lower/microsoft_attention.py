"""ONNX Runtime's attention ops for encoders and cross attention: Attention, MultiHeadAttention and their relatives."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import TensorProto

from ..ir import Value
from .attention_parts import (
    INT64,
    Heads,
    added,
    bias_where,
    causal,
    column,
    lowest,
    merge_heads,
    placed,
    positions,
    softmax,
    split_heads,
)
from .foreign import MICROSOFT
from .integers import centred_product, multiplier, scaled
from .node import OnnxNode
from .registry import lowers
from .sizes import Size, product, size_of, vector


@lowers("Attention", domain=MICROSOFT)
def attention(node: OnnxNode) -> list[Value | None]:
    projected = node.emit("matmul", [node.operand(0), node.operand(1)], trans_a=0, trans_b=0)
    bias = node.input(2)
    if bias is not None:
        projected = node.emit("add", [projected, bias])
    return _self_attention(node, projected, mask=node.input(3), past=node.input(4), bias=node.input(5))


@lowers("QAttention", domain=MICROSOFT)
def quantised_attention(node: OnnxNode) -> list[Value | None]:
    sums = centred_product(node, node.operand(0), node.operand(1), node.input(6), node.input(7))
    projected = node.emit("add", [scaled(node, sums, multiplier(node, node.operand(3), node.operand(4))), node.operand(2)])
    return _self_attention(node, projected, mask=node.input(5), past=node.input(8), bias=None)


def _self_attention(
    node: OnnxNode, projected: Value, mask: Value | None, past: Value | None, bias: Value | None
) -> list[Value | None]:
    if node.integer("do_rotary") == 1:
        raise node.unsupported("do_rotary=1")
    _refuse_shared_buffers(node)
    widths = node.integers("qkv_hidden_sizes") if node.has("qkv_hidden_sizes") else None
    sizes = node.int64s(widths) if widths else None
    heads = node.integer("num_heads")
    parts = node.emit_results("split", [projected, sizes], [True] * 3, axis=2)
    q, k, v = (split_heads(node, part, heads) for part in parts if part is not None)
    if past is not None:
        halves = [node.emit("gather", [past, node.int64s(index)], axis=0) for index in range(2)]
        k, v = (node.emit("concat", [old, new], axis=2) for old, new in zip(halves, (k, v), strict=True))
    y, _ = _attend(node, q, k, v, mask, bias)
    present: Value | None = None
    if node.wants(1):
        stacked = [node.emit("unsqueeze", [each, node.int64s([0])]) for each in (k, v)]
        present = node.emit("concat", stacked, axis=0)
    return [y, present]


@lowers("MultiHeadAttention", domain=MICROSOFT)
def multi_head_attention(node: OnnxNode) -> list[Value | None]:
    q, k, v = _operands(node)
    return _with_cache(node, q, k, v, node.input(4), node.input(5), (node.input(6), node.input(7)), node.input(8), node.input(9))


@lowers("DecoderMaskedMultiHeadAttention", domain=MICROSOFT)
def decoder_masked_multi_head_attention(node: OnnxNode) -> list[Value | None]:
    q, k, v = _operands(node, bias=node.input(10))
    return _with_cache(node, q, k, v, node.input(3), node.input(4), (node.input(5), node.input(6)), node.input(7), node.input(9))


def _with_cache(
    node: OnnxNode,
    q: Value,
    k: Value,
    v: Value,
    mask: Value | None,
    bias: Value | None,
    past: Sequence[Value | None],
    past_length: Value | None,
    beams: Value | None,
) -> list[Value | None]:
    """Attention to the past and to k and v; the results are the output, the new past, and the scores before softmax."""
    if beams is not None:
        raise node.unsupported("cache_indirection (beam search inside the model)")
    keys, values = past
    if keys is None or values is None:
        y, scores = _attend(node, q, k, v, mask, bias)
        return [y, k, v, scores]
    if past_length is None:
        k, v = node.emit("concat", [keys, k], axis=2), node.emit("concat", [values, v], axis=2)
        y, scores = _attend(node, q, k, v, mask, bias)
        return [y, k, v, scores]
    # The past and the present share a buffer, of which the first rows are in use.
    start = node.emit("reshape", [node.emit("cast", [past_length], to=INT64, saturate=1), node.int64s([1])], allow_zero=0)
    places = node.emit("add", [start, positions(node, size_of(node, k, 2))])
    end = node.emit("add", [start, vector(node, [size_of(node, k, 2)])])
    buffers = [
        placed(node, old, new, node.emit("unsqueeze", [places, node.int64s([1])])) for old, new in ((keys, k), (values, v))
    ]
    used = [node.emit("slice", [each, node.int64s([0]), end, node.int64s([2])]) for each in buffers]
    y, scores = _attend(node, q, used[0], used[1], mask, bias)
    return [y, *buffers, scores]


def _refuse_shared_buffers(node: OnnxNode) -> None:
    if node.has("past_present_share_buffer") and node.integer("past_present_share_buffer"):
        raise node.unsupported(
            "past_present_share_buffer=1", "export the model without it, as ONNX Runtime's CPU backend wants it"
        )


def _operands(node: OnnxNode, bias: Value | None = None) -> tuple[Value, Value, Value]:
    """Queries, keys and values as [batch, heads, length, size], out of the forms in which they may be packed."""
    query, key, value = node.operand(0), node.input(1), node.input(2)
    heads = node.integer("num_heads")
    if node.op == "MultiHeadAttention":
        bias = node.input(3)
    if key is None and node.rank(query) == 3:  # [batch, length, 3 · heads · size]
        parts = node.emit_results("split", [query if bias is None else node.emit("add", [query, bias])], [True] * 3, axis=2)
        q, k, v = (split_heads(node, part, heads) for part in parts if part is not None)
        return q, k, v
    if key is None:
        q, k, v = (_unpacked(node, query, index) for index in range(3))
    else:
        q = _headed(node, query, heads)
        if value is None:
            k, v = (_unpacked(node, key, index) for index in range(2))
        else:
            k, v = _headed(node, key, heads), _headed(node, value, heads)
    if bias is None:
        return q, k, v
    widths: list[Size] = [product(node, [heads, size_of(node, each, 3)]) for each in (q, k, v)]
    if not all(isinstance(width, int) for width in widths):
        raise node.unsupported("a bias for queries, keys and values whose sizes are not known")
    sizes = node.int64s([width for width in widths if isinstance(width, int)])
    biases = node.emit_results("split", [bias, sizes], [True] * 3, axis=0)
    shifted = []
    for each, part in zip((q, k, v), biases, strict=True):
        wide = node.emit("reshape", [part, node.int64s([heads, 1, -1])], allow_zero=0)
        shifted.append(node.emit("add", [each, wide]))
    return shifted[0], shifted[1], shifted[2]


def _headed(node: OnnxNode, x: Value, heads: int) -> Value:
    """Keys and values of cross attention come with their heads apart."""
    return x if node.rank(x) == 4 else split_heads(node, x, heads)


def _unpacked(node: OnnxNode, packed: Value, index: int) -> Value:
    """One tensor of [batch, length, heads, several, size]."""
    return node.emit("transpose", [node.emit("gather", [packed, node.int64s(index)], axis=3)], perm=[0, 2, 1, 3])


def _attend(node: OnnxNode, q: Value, k: Value, v: Value, mask: Value | None, bias: Value | None) -> tuple[Value, Value]:
    """The output [batch, length, heads · size], and the scores with all biases."""
    heads = Heads(node.integer("num_heads"), node.integer("num_heads"))
    scale = node.number("scale") if node.has("scale") and node.number("scale") != 0 else None
    scores = heads.scores(node, q, k, scale)
    length, total, dtype = size_of(node, q, 2), size_of(node, k, 2), node.dtype(q)
    terms = [bias, None if mask is None else _mask_bias(node, mask, q, length, total)]
    if node.has("unidirectional") and node.integer("unidirectional") == 1:
        past = _difference(node, total, length)
        terms.append(bias_where(node, causal(node, length, past, total), lowest(dtype), dtype))
    total_bias = added(node, *terms)
    if total_bias is not None:
        scores = node.emit("add", [scores, total_bias])
    return merge_heads(node, heads.weighted(node, softmax(node, scores), v)), scores


def _difference(node: OnnxNode, a: Size, b: Size) -> Size:
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return node.emit("sub", [vector(node, [size]) for size in (a, b)])


def _mask_bias(node: OnnxNode, mask: Value, q: Value, length: Size, total: Size) -> Value:
    """A mask in any of its forms as a bias that broadcasts to [batch, heads, length, total]."""
    rank, dtype = node.rank(mask), node.dtype(q)
    if rank == 1:
        allowed = _within_ends(node, mask, q, total)
    else:
        allowed = (
            mask if node.dtype(mask) == TensorProto.BOOL else node.emit("greater", [mask, node.constant(0, node.dtype(mask))])
        )
        if rank == 4:  # of the largest length: the rows and columns in use are cut out
            ends = [vector(node, [size]) for size in (_difference(node, total, length), total)]
            rows = node.emit("slice", [allowed, ends[0], ends[1], node.int64s([2])])
            allowed = node.emit("slice", [rows, node.int64s([0]), ends[1], node.int64s([3])])
    if rank < 4:
        allowed = node.emit("unsqueeze", [allowed, node.int64s([1] if rank == 3 else [1, 2])])
    return bias_where(node, allowed, node.number("mask_filter_value"), dtype)


def _within_ends(node: OnnxNode, mask: Value, q: Value, total: Size) -> Value:
    """[batch, total] from one number for each row (where its keys end), two (the ends, then where the keys begin), or three
    and two more (lengths, then their sums for queries and keys)."""
    keys, batch = positions(node, total), size_of(node, q, 0)
    wide, one = node.emit("cast", [mask], to=INT64, saturate=1), vector(node, [batch])
    allowed = node.emit("less", [keys, column(node, _slice(node, wide, node.int64s([0]), one))])
    numbers, two = size_of(node, mask, 0), node.emit("add", [one, one])
    if isinstance(batch, int) and isinstance(numbers, int):
        if numbers != 2 * batch:
            return allowed
        starts = _slice(node, wide, one, two)
    else:
        filled = node.emit("concat", [wide, node.emit("constant_of_shape", [one, node.int64s([0])])], axis=0)
        doubled = node.emit("equal", [vector(node, [numbers]), two])
        starts = node.emit("where", [doubled, _slice(node, filled, one, two), node.int64s([0])])
    return node.emit("and", [allowed, node.emit("greater_equal", [keys, column(node, starts)])])


def _slice(node: OnnxNode, x: Value, start: Value, end: Value) -> Value:
    return node.emit("slice", [x, start, end, node.int64s([0])])
