"""Rotary position embeddings: pairs of channels turned by an angle that grows with the position."""

from __future__ import annotations

from ..ir import Value
from .attention_parts import merge_heads, positions, split_heads
from .foreign import MICROSOFT
from .node import OnnxNode
from .registry import lowers
from .sizes import size_of


def rotate(node: OnnxNode, x: Value, cosine: Value, sine: Value, interleaved: bool) -> Value:
    """x [batch, heads, length, size] turned by angles given as [batch or 1, length, half of what is turned]; the rest stays."""
    half = size_of(node, cosine, 2)
    if not isinstance(half, int):
        raise node.unsupported("the width of the table of cosines must be known")
    if size_of(node, x, 3) == 2 * half:
        return _turned(node, x, cosine, sine, half, interleaved)
    start, middle, end, axis = (node.int64s([number]) for number in (0, 2 * half, 2**62, 3))
    turned = _turned(node, node.emit("slice", [x, start, middle, axis]), cosine, sine, half, interleaved)
    return node.emit("concat", [turned, node.emit("slice", [x, middle, end, axis])], axis=3)


def _turned(node: OnnxNode, x: Value, cosine: Value, sine: Value, half: int, interleaved: bool) -> Value:
    cosine, sine = (node.emit("unsqueeze", [each, node.int64s([1])]) for each in (cosine, sine))
    if interleaved:
        pairs = node.emit("reshape", [x, node.int64s([0, 0, 0, half, 2])], allow_zero=0)
        parts = [node.emit("gather", [pairs, node.int64s(index)], axis=4) for index in range(2)]
    else:
        parts = [part for part in node.emit_results("split", [x], [True, True], axis=3) if part is not None]
    products = [node.emit("mul", [part, angle]) for part in parts for angle in (cosine, sine)]
    turned = [node.emit("sub", [products[0], products[3]]), node.emit("add", [products[1], products[2]])]
    if not interleaved:
        return node.emit("concat", turned, axis=3)
    stacked = [node.emit("unsqueeze", [part, node.int64s([4])]) for part in turned]
    return node.emit("reshape", [node.emit("concat", stacked, axis=4), node.int64s([0, 0, 0, 2 * half])], allow_zero=0)


@lowers("RotaryEmbedding", domain=MICROSOFT)
def microsoft_rotary_embedding(node: OnnxNode) -> Value:
    x, ids, cosine, sine = node.operands
    if node.integer("is_packed_batching"):
        raise node.unsupported("is_packed_batching=1")
    flat = node.rank(x) == 3
    if flat and node.integer("num_heads") == 0:  # all of a head is turned
        half = size_of(node, cosine, 1)
        if not isinstance(half, int):
            raise node.unsupported("the width of the table of cosines must be known where num_heads is not given")
        apart = node.emit("reshape", [x, node.int64s([0, 0, -1, 2 * half])], allow_zero=0)
        x = node.emit("transpose", [apart], perm=[0, 2, 1, 3])
    elif flat:
        x = split_heads(node, x, node.integer("num_heads"))
    if node.rank(ids) == 1:  # the first position of all rows
        ids = node.emit("add", [ids, positions(node, size_of(node, x, 2))])
        ids = node.emit("unsqueeze", [ids, node.int64s([0])])
    angles = [node.emit("gather", [table, ids], axis=0) for table in (cosine, sine)]
    y = rotate(node, x, angles[0], angles[1], node.integer("interleaved") == 1)
    return merge_heads(node, y) if flat else y
