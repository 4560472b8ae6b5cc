"""recognise_attention: the spellings of exporters, and look-alikes that must stay."""

from __future__ import annotations

import numpy as np
import pytest
from pass_graphs import BOOL, Builder, check, check_unchanged

from jitney.converter.ir import Value
from jitney.converter.passes.recognise_attention import recognise_attention


def operands(b: Builder, batch: int | str = 2, keys: int | str = 5) -> tuple[Value, Value, Value]:
    shapes = ((batch, 3, 4, 8), (batch, 3, keys, 8), (batch, 3, keys, 6))
    q, k, v = (b.input(name, *shape) for name, shape in zip("qkv", shapes, strict=True))
    return q, k, v


def scores(b: Builder, q: Value, k: Value, scale: float = 0.5) -> Value:
    return b("matmul", q, k, trans_a=0, trans_b=1, scale=scale)


def weighted(b: Builder, x: Value, v: Value, axis: int = -1) -> Value:
    return b("matmul", b("softmax", x, axis=axis), v, trans_a=0, trans_b=0, name="y")


@pytest.mark.parametrize("keys", [5, "S"])
def test_plain(keys: int | str) -> None:
    b = Builder()
    q, k, v = operands(b, "N", keys)
    check(recognise_attention, b.model(weighted(b, scores(b, q, k), v, axis=3)), ["y = attention(q, k, v) scale=0.5"])


def test_scale_outside_of_the_product() -> None:
    b = Builder()
    q, k, v = operands(b, "N", "S")
    x = b("div", b("mul", 0.25, scores(b, q, k)), 2.0)
    check(recognise_attention, b.model(weighted(b, x, v)), ["y = attention(q, k, v) scale=0.0625"])


def test_transposed_operands() -> None:
    b = Builder()
    q, k, v = b.input("q", 2, 8, 4), b.input("k", 2, 8, 5), b.input("v", 2, 6, 5)
    shares = b("softmax", b("matmul", q, k, trans_a=1, trans_b=0), axis=-1)
    model = b.model(b("matmul", shares, v, trans_a=0, trans_b=1, name="y"))
    wanted = [f"{x}.transposed = transpose({x}) perm=[0,2,1]" for x in "qkv"]
    check(recognise_attention, model, [*wanted, "y = attention(q.transposed, k.transposed, v.transposed) scale=1"])


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 1, 1, 5), (4, 5), (5,), (1, 3, 4, 1)])
def test_bias(shape: tuple[int, ...]) -> None:
    b = Builder()
    q, k, v = operands(b)
    x = b("add", b.input("bias", *shape), scores(b, q, k))
    check(recognise_attention, b.model(weighted(b, x, v)), ["y = attention(q, k, v, bias) scale=0.5"])


def test_bias_in_the_epilogue_and_another() -> None:
    b = Builder()
    q, k, v = operands(b)
    product = b("matmul", q, k, None, b.input("near", 2, 3, 4, 5), trans_a=0, trans_b=1, residual="before")
    model = b.model(weighted(b, b("add", product, b.input("far", 4, 1)), v))
    check(recognise_attention, model, ["near.sum = add(near, far)", "y = attention(q, k, v, near.sum) scale=1"])


def test_columns_bias() -> None:
    b = Builder()
    q, k, v = operands(b)
    product = b("matmul", q, k, b.weights("columns", 5), trans_a=0, trans_b=1)
    check(recognise_attention, b.model(weighted(b, product, v)), ["y = attention(q, k, v, columns) scale=1"])


@pytest.mark.parametrize("shown", [True, False])
def test_mask(shown: bool) -> None:
    b = Builder()
    q, k, v = operands(b)
    x, mask = scores(b, q, k), b.input("mask", 2, 1, 4, 5, dtype=BOOL)
    x = b("where", mask, x, -1e4) if shown else b("where", mask, -1e4, x)
    if shown:
        wanted = ["y = attention(q, k, v, _, mask) masked=-10000 scale=0.5"]
    else:
        wanted = ["mask.not = not(mask)", "y = attention(q, k, v, _, mask.not) masked=-10000 scale=0.5"]
    check(recognise_attention, b.model(weighted(b, x, v)), wanted)


def test_rows_that_see_no_key() -> None:
    b = Builder()
    q, k, v = operands(b)
    bias = np.zeros((4, 5), np.float32)
    bias[1] = -np.inf
    shares = b("softmax", b("add", scores(b, q, k), b.const(bias, name="bias")), axis=-1)
    guarded = b("where", b("is_nan", shares), 0.0, shares)
    model = b.model(b("matmul", guarded, v, trans_a=0, trans_b=0, name="y"))
    check(recognise_attention, model, ["y = attention(q, k, v, bias) nan_to_zero=1 scale=0.5"])


def test_keys_transposed_with_merged_heads() -> None:
    """As torch exports scaled_dot_product_attention."""
    b = Builder()
    q, k, v = operands(b)
    merged = b("reshape", k, b.const([-1, 5, 8], np.int64), allow_zero=0)
    swapped = b("transpose", merged, perm=[0, 2, 1])
    split = b("reshape", swapped, b.const([2, 3, 8, 5], np.int64), allow_zero=0)
    x = b("matmul", q, split, trans_a=0, trans_b=0)
    check(recognise_attention, b.model(weighted(b, x, v)), ["y = attention(q, k, v) scale=1"])


@pytest.mark.parametrize("lift", ["unsqueeze", "reshape"])
def test_shared_heads(lift: str) -> None:
    b = Builder()
    q, k, v = b.input("q", 2, 6, 4, 8), b.input("k", 2, 3, 5, 8), b.input("v", 2, 3, 5, 7)

    def repeated(x: Value, size: int) -> Value:
        if lift == "unsqueeze":
            lifted = b("unsqueeze", x, b.const([2], np.int64))
        else:
            lifted = b("reshape", x, b.const([2, 3, 1, 5, size], np.int64), allow_zero=0)
        wide = b("expand", lifted, b.const([2, 3, 2, 5, size], np.int64))
        return b("reshape", wide, b.const([2, 6, 5, size], np.int64), allow_zero=0)

    model = b.model(weighted(b, scores(b, q, repeated(k, 8)), repeated(v, 7)))
    check(recognise_attention, model, ["y = attention(q, k, v) scale=0.5"])


@pytest.mark.parametrize("rows", [4, "M"])
def test_groups_of_heads_in_one_product(rows: int | str) -> None:
    """As Attention and GroupQueryAttention are lowered."""
    b = Builder()
    q, k, v = b.input("q", 2, 6, rows, 8), b.input("k", 2, 3, 5, 8), b.input("v", 2, 3, 5, 7)

    def stacked(x: Value, size: int) -> Value:
        return b("reshape", x, b.const([2, 3, -1, size], np.int64), allow_zero=0)

    def split(x: Value, size: int) -> Value:
        return b("reshape", x, b.const([2, 6, -1, size], np.int64), allow_zero=0, name=f"split{size}")

    x = split(b("matmul", stacked(q, 8), k, trans_a=0, trans_b=1, scale=0.5), 5)
    shares = b("softmax", b("add", x, b.input("bias", 2, 1, 1, 5)), axis=-1)
    model = b.model(split(b("matmul", stacked(shares, 5), v, trans_a=0, trans_b=0), 7))
    check(recognise_attention, model, ["split7 = attention(q, k, v, bias) scale=0.5"])


def test_look_alikes() -> None:
    b = Builder()
    q, k, v = operands(b)
    other_axis = b("softmax", scores(b, q, k), axis=2)
    read_twice = scores(b, q, k)
    widened = b("add", scores(b, q, k), b.input("wide", 4, 2, 3, 4, 5))
    one_key = b("matmul", b.input("q1", 2, 4, 8), b.input("k1", 2, 1, 8), trans_a=0, trans_b=1)
    widened_keys = b("add", one_key, b.input("bias", 2, 4, 5))
    biased_first = b("mul", b("add", scores(b, q, k), b.input("early", 5)), 2.0)
    masked_first = b("add", b("where", b.input("mask", 5, dtype=BOOL), scores(b, q, k), -1e4), 1.0)
    constant = b("softmax", b("matmul", q, b.weights("w", 2, 3, 5, 8), trans_a=0, trans_b=1), axis=-1)
    model = b.model(
        b("matmul", other_axis, v, trans_a=0, trans_b=0),
        weighted(b, read_twice, v),
        b("neg", read_twice),
        b("matmul", b("softmax", widened, axis=-1), v, trans_a=0, trans_b=0),
        b("matmul", b("softmax", widened_keys, axis=-1), b.input("v1", 2, 5, 3), trans_a=0, trans_b=0),
        b("matmul", b("softmax", biased_first, axis=-1), v, trans_a=0, trans_b=0),
        b("matmul", b("softmax", masked_first, axis=-1), v, trans_a=0, trans_b=0),
        b("matmul", constant, v, trans_a=0, trans_b=0),
    )
    check_unchanged(recognise_attention, model)


@pytest.mark.parametrize("length", [1, 7, 130, 300])
def test_long_rows(length: int) -> None:
    b = Builder()
    q, k, v = (b.input(name, 1, 2, length, size) for name, size in (("q", 20), ("k", 20), ("v", 33)))
    check(recognise_attention, b.model(weighted(b, scores(b, q, k), v)), ["y = attention(q, k, v) scale=0.5"])
