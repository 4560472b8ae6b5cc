"""Ops that ONNX defines by simpler ones, with open sizes: losses, norms, rotary embedding, attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_check import Array, check, floats, make_model, over_versions, reference, references, rng, run_jny, versions

from jitney.converter.load import load
from jitney.converter.lower import lower


def labels(*shape: int, classes: int = 5) -> Array:
    return rng(7).integers(0, classes, shape)


@over_versions("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize(("space", "weighted"), [((), True), ((4,), False), ((2, 3, 2), True)])
def test_losses(op: str, opset: int, reduction: str, space: tuple[int, ...], weighted: bool) -> None:
    operands: list[Array | None] = [floats(3, 5, *space), labels(3, *space), np.abs(floats(5, seed=2)) if weighted else None]
    check(op, operands, opset=opset, reduction=reduction)
    check(op, operands, opset=opset, reduction=reduction, ignore_index=2)


@over_versions("SoftmaxCrossEntropyLoss")
def test_losses_with_log_probabilities(op: str, opset: int) -> None:
    check(op, [floats(3, 5, 4), labels(3, 4)], opset=opset, outputs=2)
    outside = labels(3, 4)
    outside[0, 0] = -1
    check(op, [floats(3, 5, 4), outside], opset=opset, outputs=2, ignore_index=-1)


@over_versions("GroupNormalization")
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_group_normalization(op: str, opset: int, dtype: type) -> None:
    x = floats(2, 6, 3, 4, dtype=dtype)
    size = 3 if opset < 21 else 6  # scale and bias were given for each group
    check(op, [x, floats(size, seed=1, dtype=dtype), floats(size, seed=2, dtype=dtype)], opset=opset, num_groups=3, epsilon=1e-3)


@over_versions("RMSNormalization")
@pytest.mark.parametrize("axis", [-1, 1, 0])
def test_rms_normalization(op: str, opset: int, axis: int) -> None:
    x = floats(2, 3, 8)
    check(op, [x, floats(*x.shape[axis:], seed=1)], opset=opset, axis=axis, epsilon=1e-3)
    half = x.astype(np.float16)
    check(op, [half, floats(*x.shape[axis:], seed=1, dtype=np.float16)], opset=opset, axis=axis)


@over_versions("MeanVarianceNormalization")
def test_mean_variance_normalization(op: str, opset: int) -> None:
    check(op, [floats(2, 3, 4, 5)], opset=opset)
    check(op, [floats(2, 3, 4)], opset=opset, axes=[1, 2])


@over_versions("SwiGLU")
def test_swiglu(op: str, opset: int) -> None:
    operands = [floats(2, 3, 8), floats(2, 3, 8, seed=1)]
    model = make_model(op, operands, opset=opset, symbolic=True)
    gate, up = operands
    y = run_jny(model, {"x0": gate, "x1": up})["y0"]
    np.testing.assert_allclose(y, gate / (1 + np.exp(-gate)) * up, rtol=1e-4, atol=1e-5)


@over_versions("RotaryEmbedding")
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("rotary", [0, 4])
def test_rotary_embedding(op: str, opset: int, interleaved: int, rotary: int) -> None:
    half = (rotary or 8) // 2
    options: dict[str, Any] = {"opset": opset, "interleaved": interleaved, "rotary_embedding_dim": rotary}
    cosine, sine, places = floats(20, half, seed=1), floats(20, half, seed=2), rng(3).integers(0, 20, (2, 5))
    check(op, [floats(2, 3, 5, 8), cosine, sine, places], constants=[1, 2], **options)
    check(op, [floats(2, 5, 24), cosine, sine, places], constants=[1, 2], num_heads=3, **options)
    check(op, [floats(2, 3, 5, 8), cosine[places], sine[places]], **options)


ATTENTION: list[dict[str, Any]] = [
    {},
    {"is_causal": 1},
    {"scale": 0.2, "softcap": 2.0},
    {"mask": "bool"},
    {"mask": "float", "is_causal": 1},
    {"mask": "rows"},
    {"past": 3},
    {"past": 3, "is_causal": 1, "mask": "bool"},
    {"keys": 1},
    {"keys": 2, "past": 2, "mask": "float"},
    {"flat": 1},
    {"flat": 1, "keys": 2, "is_causal": 1},
    {"softmax_precision": 1, "dtype": np.float16},
]


@pytest.mark.parametrize("opset", versions("Attention"))
@pytest.mark.parametrize("case", ATTENTION, ids=str)
def test_attention(opset: int, case: dict[str, Any]) -> None:
    case = dict(case)
    dtype, past, flat, mask = case.pop("dtype", np.float32), case.pop("past", 0), case.pop("flat", 0), case.pop("mask", "")
    heads, keys, length, size = 4, case.pop("keys", 4), 5, 8
    q = floats(2, heads, length, size, dtype=dtype)
    k, v = (floats(2, keys, length, size, seed=seed, dtype=dtype) for seed in (1, 2))
    if flat:
        q, k, v = (each.transpose(0, 2, 1, 3).reshape(2, length, -1).copy() for each in (q, k, v))
        case |= {"q_num_heads": heads, "kv_num_heads": keys}
    shape = {"bool": (length, past + length), "float": (2, 1, length, past + length), "rows": (2, heads, length, length)}.get(
        mask
    )
    given: Array | None = None
    if shape is not None:
        given = rng(5).integers(0, 2, shape).astype(bool) if mask == "bool" else floats(*shape, seed=5, dtype=dtype)
        given[..., 0] = True if mask == "bool" else 0
    caches = [floats(2, keys, past, size, seed=seed, dtype=dtype) for seed in (3, 4)] if past else []
    operands: list[Array | None] = [q, k, v, given, *caches]
    tolerance = 1e-4 if dtype == np.float32 else 4e-3
    check("Attention", operands, opset=opset, outputs=3 if past else 1, tolerance=tolerance, **case)


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_attention_shows_its_scores(mode: int) -> None:
    operands: list[Array | None] = [*(floats(2, 3, 4, 8, seed=seed) for seed in range(3)), floats(4, 4, seed=3)]
    names = ["y", "", "", "scores"]
    check("Attention", operands, opset=24, outputs=names, qk_matmul_output_mode=mode, softcap=2.0, tolerance=1e-4)


def test_attention_with_a_static_cache() -> None:
    operands: list[Array | None] = [floats(2, 3, 4, 8), floats(2, 3, 9, 8, seed=1), floats(2, 3, 9, 8, seed=2)]
    operands += [None, None, None, np.array([9, 6], np.int64)]
    for causal in (0, 1):
        check("Attention", operands, opset=24, is_causal=causal, tolerance=1e-4)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_linear_attention(rule: str) -> None:
    q, k, v = (floats(2, 4, 6 * heads, seed=seed) for seed, heads in ((0, 2), (1, 2), (2, 2)))
    gated, delta = "gated" in rule, "delta" in rule
    decay = -np.abs(floats(2, 4, 12, seed=3)) if gated else None
    beta = 1 / (1 + np.exp(-floats(2, 4, 2, seed=4))) if delta else None
    operands: list[Array | None] = [
        q,
        k,
        v,
        floats(2, 2, 6, 6, seed=5) * 0.1,
        decay,
        None if beta is None else beta.astype(np.float32),
    ]
    attributes = {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": rule}
    model = make_model("LinearAttention", operands, opset=27, outputs=2, attributes=attributes)
    feeds = {f"x{index}": each for index, each in enumerate(operands) if each is not None}
    expected, results = reference(model, feeds), run_jny(model, feeds)
    for name in expected:
        np.testing.assert_allclose(results[name], expected[name], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("length", "past"), [(0, 3), (1, 3), (5, 0), (5, 3)])
def test_attention_with_open_lengths_copies_no_keys(length: int, past: int) -> None:
    """Heads and their sizes are known in real models: each group of heads then takes one product with the keys that it shares."""
    q, k, v = floats(2, 4, length, 8), floats(2, 2, length, 8, seed=1), floats(2, 2, length, 8, seed=2)
    operands: list[Array | None] = [q, k, v, None, floats(2, 2, past, 8, seed=3), floats(2, 2, past, 8, seed=4)]
    model = make_model("Attention", operands, opset=24, outputs=3, symbolic=True, attributes={"is_causal": 1})
    for info in model.graph.input:
        for axis, size in ((1, 4 if info.name == "x0" else 2), (3, 8)):
            info.type.tensor_type.shape.dim[axis].dim_value = size
    feeds = {f"x{index}": operand for index, operand in enumerate(operands) if operand is not None}
    expected, results = list(references(model, feeds))[-1], run_jny(model, feeds)
    for name in expected:
        np.testing.assert_allclose(results[name], expected[name], rtol=1e-4, atol=1e-5)
    assert not {node.op for node in lower(load(model)).graph.nodes} & {"expand", "tile"}
