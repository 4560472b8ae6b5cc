"""Matrix products, normalisations, losses and attention."""

from __future__ import annotations

import math

from ..case import FLOATS
from ..draw import WIDE, Draw
from .registry import rule


@rule("MatMul")
def matmul(d: Draw) -> None:
    d.loose = True
    left = d.shape(1)
    inner = left[-1]
    if len(left) == 1 or d.chance(0.4):
        right = [inner] if d.chance(0.3) else [inner, d.size()]
        if len(left) == 1 and d.chance(0.3) and len(right) == 2:
            right = [d.size(), *right]
    else:
        right = [*d.broadcastable(left[:-2]), inner, d.size()]
    if len(right) > 2 and not d.tame and d.chance(0.3):
        left = [*d.broadcastable(right[:-2]), *left[-2:]]
    d.operand(left, allowed=FLOATS | {"INT32", "INT64", "UINT32", "UINT64"})
    d.operand(right)


@rule("Gemm")
def gemm(d: Draw) -> None:
    d.loose = True
    m, k = d.shape(2, 2)
    n = d.size()
    trans_a = trans_b = 0
    if not d.tame and d.chance(0.4):
        trans_a = 1
    if d.chance(0.4):
        trans_b = 1
    d.operand([k, m] if trans_a else [m, k], allowed=FLOATS | {"INT32", "INT64"})
    d.operand([n, k] if trans_b else [k, n])
    if d.since < 11 or d.chance(0.7):
        d.operand(d.pick([[m, n], [n], [1, n], [m, 1], [1], [], [1, 1]]))
    d.attributes.update({"transA": trans_a, "transB": trans_b} if d.chance(0.9) or trans_a or trans_b else {})
    d.maybe("alpha", [1.0, 0.5, 2.0])
    d.maybe("beta", [1.0, 0.5, 0.0])


@rule("BatchNormalization")
def batch_norm(d: Draw) -> None:
    d.loose = True
    shape = d.shape(2, 5)
    channels = shape[1]
    d.operand(shape, allowed=FLOATS - {"BFLOAT16"})
    for fill in ("normal", "normal", "unit", "positive"):
        d.operand([channels], fill, dtype=d.type(0), constant=True if d.chance(0.7) else None)
    d.maybe("epsilon", [1e-5, 1e-2])
    d.maybe("momentum", [0.9, 0.5])


@rule("InstanceNormalization")
def instance_norm(d: Draw) -> None:
    d.loose = True
    shape = d.shape(3, 5)
    d.need(0 not in shape)
    d.operand(shape)
    d.operand([shape[1]])
    d.operand([shape[1]])
    d.maybe("epsilon", [1e-5, 1e-2])


@rule("LayerNormalization", "RMSNormalization")
def layer_norm(d: Draw) -> None:
    d.loose = True
    shape = d.shape(1)
    axis = d.axis(len(shape)) if d.chance(0.5) else -1
    normal = shape[axis:]
    d.need(0 not in shape)
    d.operand(shape)
    d.operand(normal, dtype=d.type(0))
    if d.op == "LayerNormalization":
        if d.chance(0.6):
            d.operand(normal, dtype=d.type(0))
        d.results = [True, d.chance(0.2), d.chance(0.2)]
    d.attribute("axis", axis)
    d.maybe("epsilon", [1e-5, 1e-2])


@rule("GroupNormalization")
def group_norm(d: Draw) -> None:
    d.loose = True
    shape = d.shape(3, 5)
    d.need(0 not in shape)
    groups = d.pick([size for size in range(1, shape[1] + 1) if shape[1] % size == 0])
    d.operand(shape)
    d.operand([shape[1]], dtype=d.type(0))
    d.operand([shape[1]], dtype=d.type(0))
    d.attribute("num_groups", groups)
    d.maybe("epsilon", [1e-5, 1e-2])


@rule("LRN")
def lrn(d: Draw) -> None:
    d.loose = True
    d.operand(d.shape(3, 5))
    d.attribute("size", d.pick([1, 2, 3, 4, 5, 7]))
    d.maybe("alpha", [1e-4, 0.5])
    d.maybe("beta", [0.75, 0.5])
    d.maybe("bias", [1.0, 2.0])


@rule("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(d: Draw) -> None:
    d.loose = True
    rows, classes, *sizes = d.shape(2, 4)
    d.need(0 not in (rows, classes, *sizes))
    d.operand([rows, classes, *sizes])
    ignore = d.integer(0, classes - 1) if d.chance(0.3) else None
    d.listed([d.integer(0, classes - 1) for _ in range(math.prod([rows, *sizes]))], shape=[rows, *sizes], constant=0.2)
    if d.chance(0.5):
        d.operand([classes], "positive", dtype=d.type(0))
    d.maybe("reduction", ["mean", "sum", "none"])
    if ignore is not None:
        d.attribute("ignore_index", ignore)
    if d.op == "SoftmaxCrossEntropyLoss":
        d.results = [True, d.chance(0.3)]


@rule("Attention")
def attention(d: Draw) -> None:
    d.loose = True
    batch, heads, width = d.integer(1, 2), d.integer(1, 2), d.pick([2, 4, 8])
    kv_heads = heads if d.chance(0.7) else 1
    queries, keys, values = d.integer(1, 5), d.integer(1, 5), d.pick([width, 3])
    flat = d.chance(0.4)
    dtype = d.type(0, {"FLOAT", "FLOAT16", "DOUBLE"})
    if flat:
        shapes = [[batch, queries, heads * width], [batch, keys, kv_heads * width], [batch, keys, kv_heads * values]]
        d.attribute("q_num_heads", heads)
        d.attribute("kv_num_heads", kv_heads)
    else:
        shapes = [[batch, heads, queries, width], [batch, kv_heads, keys, width], [batch, kv_heads, keys, values]]
    for shape in shapes:
        d.operand(shape, dtype=dtype)
    if d.chance(0.4):
        mask = d.pick([[queries, keys], [1, 1, queries, keys], [batch, 1, queries, keys], [batch, heads, queries, keys]])
        d.operand(mask, dtype=d.pick([dtype, "BOOL"]))
    d.maybe("is_causal", [0, 1], 0.4)
    d.maybe("scale", [0.5, 1.0], 0.3)
    d.maybe("softcap", [0.0, 2.0], 0.3)


@rule("RotaryEmbedding")
def rotary(d: Draw) -> None:
    d.loose = True
    batch, heads, length, width = d.integer(1, 2), d.integer(1, 3), d.integer(1, 4), d.pick([2, 4, 8])
    rotated = d.pick([width, max(2, width // 2)]) if d.chance(0.3) else width
    d.operand([batch, heads, length, width], allowed=FLOATS)
    positions = d.chance(0.6)
    cache = [8, rotated // 2] if positions else [batch, length, rotated // 2]
    d.operand(cache, "unit", dtype=d.type(0))
    d.operand(cache, "unit", dtype=d.type(0))
    if positions:
        d.listed([d.integer(0, 7) for _ in range(batch * length)], shape=[batch, length])
    d.maybe("interleaved", [0, 1])
    if rotated != width:
        d.attribute("rotary_embedding_dim", rotated)


@rule("SwiGLU")
def swiglu(d: Draw) -> None:
    shape = d.shape(1)
    d.operand(shape, allowed=WIDE & FLOATS)
    d.operand(shape)
