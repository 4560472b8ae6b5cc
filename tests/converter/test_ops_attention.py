"""ONNX Runtime's attention ops against ONNX Runtime: masks of all shapes, caches, biases, packed operands, rotary positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_check import Array, check, floats, make_model, reference, rng, run_jny

MICROSOFT = "com.microsoft"
B, S, N, H = 2, 5, 2, 8
D = N * H


def ms(op: str, inputs: list[Array | None], **options: Any) -> None:
    check(op, inputs, opset=17, domain=MICROSOFT, tolerance=1e-4, **options)


def int32s(*items: int) -> Array:
    return np.array(items, np.int32)


def mask_of(*shape: int, seed: int = 0) -> Array:
    mask = rng(seed).integers(0, 2, shape).astype(np.int32)
    mask[..., 0] = 1
    return mask


MASKS = {
    "none": None,
    "ends": int32s(5, 3),
    "ends and starts": int32s(5, 3, 2, 0),
    "lengths and sums": int32s(5, 3, 0, 5, 10, 0, 5, 10),
    "keys": mask_of(B, S),
    "queries and keys": mask_of(B, S, S),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("unidirectional", [0, 1])
def test_attention(mask: str, unidirectional: int) -> None:
    x, w, b = floats(B, S, 12), floats(12, 3 * D, seed=1), floats(3 * D, seed=2)
    ms("Attention", [x, w, b, MASKS[mask]], num_heads=N, unidirectional=unidirectional, constants=[1, 2])


def test_attention_with_a_past_and_a_bias() -> None:
    x, w, b, past = floats(B, S, 12), floats(12, 3 * D, seed=1), floats(3 * D, seed=2), floats(2, B, N, 3, H, seed=3)
    mask, bias = mask_of(B, 3 + S), floats(1, N, S, S, seed=4)
    ms("Attention", [x, w, b, mask, past], num_heads=N, unidirectional=1, outputs=2)
    ms("Attention", [x, w, b, mask_of(B, S, 3 + S), past], num_heads=N, outputs=2, mask_filter_value=-50.0)
    ms("Attention", [x, w, b, None, None, bias], num_heads=N, outputs=2, scale=0.3)
    ms("Attention", [x, floats(12, 2 * D + 6, seed=1), floats(2 * D + 6)], num_heads=N, qkv_hidden_sizes=[D, D, 6])


def test_attention_with_a_mask_of_the_largest_length() -> None:
    """ONNX Runtime takes these on GPUs only: the rows and columns in use are the first, behind the past."""
    x, w, b = floats(B, S, 12), floats(12, 3 * D, seed=1), floats(3 * D, seed=2)
    large = mask_of(B, 1, 9, 9)
    attributes = {"num_heads": N}
    results = []
    for mask in (large, np.ascontiguousarray(large[:, 0, :S, :S])):
        model = make_model("Attention", [x, w, b, mask], opset=17, domain=MICROSOFT, attributes=attributes)
        results.append(run_jny(model, {"x0": x, "x1": w, "x2": b, "x3": mask})["y0"])
    np.testing.assert_array_equal(*results)


def test_quantised_attention() -> None:
    x = rng().integers(0, 256, (B, S, 12)).astype(np.uint8)
    w = rng(1).integers(-128, 128, (12, 3 * D)).astype(np.int8)
    scales = [np.array(0.01, np.float32), np.array(0.02, np.float32)]
    zeros = [np.array(100, np.uint8), np.array(3, np.int8)]
    ms("QAttention", [x, w, floats(3 * D), *scales, mask_of(B, S), *zeros], num_heads=N, constants=[1])
    past = floats(2, B, N, 3, H)
    ms("QAttention", [x, w, floats(3 * D), *scales, None, *zeros, past], num_heads=N, unidirectional=1, outputs=2)


@pytest.mark.parametrize("mask", [name for name in MASKS if name != "ends and starts"])
@pytest.mark.parametrize("unidirectional", [0, 1])
def test_multi_head_attention(mask: str, unidirectional: int) -> None:
    q, k, v = (floats(B, S, D, seed=seed) for seed in range(3))
    ms("MultiHeadAttention", [q, k, v, None, MASKS[mask]], num_heads=N, unidirectional=unidirectional)


def test_multi_head_attention_with_everything() -> None:
    q, k, v, b = (*(floats(B, S, D, seed=seed) for seed in range(3)), floats(3 * D, seed=3))
    past = [floats(B, N, 3, H, seed=seed) for seed in (4, 5)]
    bias = floats(B, 1, S, 3 + S, seed=6)
    operands = [q, k, v, b, mask_of(B, 3 + S), bias, *past]
    ms("MultiHeadAttention", operands, num_heads=N, unidirectional=1, outputs=3, mask_filter_value=-8.0, symbolic=False)
    ms("MultiHeadAttention", [q, k, v, None, None, bias, *past], num_heads=N, outputs=3, scale=0.2)


def test_cross_attention() -> None:
    q, k, v = floats(B, 3, D), floats(B, 7, D, seed=1), floats(B, 7, 12, seed=2)
    ms("MultiHeadAttention", [q, k, v], num_heads=N)
    ms("MultiHeadAttention", [q, k, v, None, mask_of(B, 7)], num_heads=N)
    ms("MultiHeadAttention", [q, floats(B, N, 7, H, seed=1), floats(B, N, 7, H, seed=2)], num_heads=N)


def test_packed_operands() -> None:
    """The forms that ONNX Runtime takes on GPUs only equal those that it takes everywhere."""
    q, k, v = (floats(B, S, N, H, seed=seed) for seed in range(3))
    flat = [each.reshape(B, S, D) for each in (q, k, v)]
    forms: list[list[Array | None]] = [
        [*flat],
        [np.stack([q, k, v], 3)],
        [flat[0], np.stack([k, v], 3)],
        [np.concatenate(flat, -1)],
    ]
    results = []
    for operands in forms:
        model = make_model("MultiHeadAttention", operands, opset=17, domain=MICROSOFT, attributes={"num_heads": N})
        results.append(run_jny(model, {f"x{index}": each for index, each in enumerate(operands) if each is not None})["y0"])
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-5, atol=1e-6)


def test_decoder_masked_multi_head_attention() -> None:
    q, k, v = floats(B, 1, D), floats(B, N, 4, H, seed=1), floats(B, N, 4, H, seed=2)
    ms("DecoderMaskedMultiHeadAttention", [q, k, v], num_heads=N)
    ms("DecoderMaskedMultiHeadAttention", [q, k, v, mask_of(B, 4)], num_heads=N)


@pytest.mark.parametrize("bias", [None, floats(3 * D, seed=8)])
def test_decoding_into_a_buffer_that_past_and_present_share(bias: Array | None) -> None:
    q, k, v = (floats(B, 1, D, seed=seed) for seed in range(3))
    past = [floats(B, N, 9, H, seed=seed) for seed in (4, 5)]
    operands = [q, k, v, mask_of(B, 5), None, *past, int32s(4), None, None, bias]
    attributes = {"num_heads": N, "past_present_share_buffer": 1}
    model = make_model("DecoderMaskedMultiHeadAttention", operands, opset=17, domain=MICROSOFT, outputs=3, attributes=attributes)
    feeds = {f"x{index}": each for index, each in enumerate(operands) if each is not None}
    results, expected = run_jny(model, feeds), reference(model, feeds)
    np.testing.assert_allclose(results["y0"], expected["y0"], rtol=1e-4, atol=1e-5)
    for name in ("y1", "y2"):
        np.testing.assert_allclose(results[name][:, :, 4], expected[name][:, :, 4], rtol=1e-5, atol=1e-6)
        assert results[name].shape == expected[name].shape


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("rotary", [0, 4])
def test_rotary_embedding(interleaved: int, rotary: int) -> None:
    half = (rotary or H) // 2
    cosine, sine = floats(20, half, seed=1), floats(20, half, seed=2)
    places = rng(3).integers(0, 20, (B, S))
    options = {"interleaved": interleaved, "rotary_embedding_dim": rotary, "num_heads": N if rotary else 0}
    for x in (floats(B, S, D), floats(B, N, S, H)):
        ms("RotaryEmbedding", [x, places, cosine, sine], constants=[2, 3], **options)
        ms("RotaryEmbedding", [x, np.array([7]), cosine, sine], constants=[2, 3], **options)


G = 16  # head size


def gqa_operands(length: int, past: int, counts: list[int], total: int, keys: int = 1) -> list[Array | None]:
    batch = len(counts)
    q, k, v = floats(batch, length, 4 * G), floats(batch, length, keys * G, seed=1), floats(batch, length, keys * G, seed=2)
    caches = [floats(batch, keys, past, G, seed=seed) for seed in (3, 4)]
    return [q, k, v, *caches, int32s(*(count - 1 for count in counts)), np.array(total, np.int32)]


def check_gqa(operands: list[Array | None], counts: list[int], **attributes: Any) -> None:
    """Compares what is specified: rows up to each row's count."""
    attributes = {"num_heads": 4, **attributes}
    feeds = {f"x{index}": each for index, each in enumerate(operands) if each is not None}
    expected = None
    for symbolic in (False, True):
        tables = [7, 8]
        options: dict[str, Any] = {"constants": [i for i in tables if i < len(operands)], "outputs": 3, "attributes": attributes}
        model = make_model("GroupQueryAttention", operands, opset=17, domain=MICROSOFT, symbolic=symbolic, **options)
        fed = {name: each for name, each in feeds.items() if int(name[1:]) not in options["constants"]}
        expected = expected or reference(model, fed)
        for simplify in (False, True):
            results = run_jny(model, fed, simplify=simplify)
            for row, count in enumerate(counts):
                y, wanted = results["y0"], expected["y0"]
                assert y.shape == wanted.shape
                np.testing.assert_allclose(y[row, :count], wanted[row, :count], rtol=1e-4, atol=1e-5)
                for name in ("y1", "y2"):
                    assert results[name].shape == expected[name].shape
                    np.testing.assert_allclose(
                        results[name][row, :, :count], expected[name][row, :, :count], rtol=1e-5, atol=1e-6
                    )


GQA_OPTIONS: list[dict[str, Any]] = [{}, {"local_window_size": 3}, {"softcap": 1.5}, {"smooth_softmax": 1}, {"scale": 0.2}]


@pytest.mark.parametrize("options", GQA_OPTIONS)
def test_group_query_attention(options: dict[str, Any]) -> None:
    check_gqa(gqa_operands(5, 0, [5, 5], 5, keys=2), [5, 5], kv_num_heads=2, **options)
    check_gqa(gqa_operands(5, 0, [5, 3], 5), [5, 3], kv_num_heads=1, **options)
    check_gqa(gqa_operands(1, 5, [6, 6], 6), [6, 6], kv_num_heads=1, **options)
    check_gqa(gqa_operands(1, 9, [6, 4], 6, keys=4), [6, 4], kv_num_heads=4, **options)
    check_gqa(gqa_operands(3, 4, [7], 7), [7], kv_num_heads=1, **options)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_group_query_attention_that_turns_by_position(interleaved: int) -> None:
    tables: list[Array | None] = [floats(20, G // 2, seed=6), floats(20, G // 2, seed=7)]
    options = {"do_rotary": 1, "rotary_interleaved": interleaved}
    for operands, counts in (
        (gqa_operands(5, 0, [5, 3], 5), [5, 3]),
        (gqa_operands(1, 9, [6, 4], 6), [6, 4]),
        (gqa_operands(3, 4, [7], 7), [7]),
    ):
        check_gqa([*operands, *tables], counts, kv_num_heads=1, **options)


def test_group_query_attention_with_packed_operands_and_biases() -> None:
    operands = gqa_operands(5, 0, [5, 5], 5, keys=2)
    packed: list[Array | None] = [np.concatenate([each for each in operands[:3] if each is not None], -1), None, None]
    check_gqa([*packed, *operands[3:]], [5, 5], kv_num_heads=2)
    bias = floats(1, 4, 5, 5, seed=8)
    check_gqa([*operands, None, None, None, bias], [5, 5], kv_num_heads=2)
    check_gqa([*operands, None, None, None, None, floats(4, seed=9)], [5, 5], kv_num_heads=2)
