"""gather_before_decoding: rows of a stored table are picked first and decoded then."""

from __future__ import annotations

import numpy as np
from pass_graphs import Builder, assert_same_results, check_unchanged, run, sketch

from jitney.converter.ir import Model, Value
from jitney.converter.passes.gather_before_decoding import gather_before_decoding

ROWS, WIDTH = 300, 8


def table(b: Builder, scale: Value, zero: Value | None = None) -> Value:
    stored = b.const(b.random.integers(-128, 128, (ROWS, WIDTH)), np.int8, "stored")
    decoded = b("cast", stored, name="decoded", to=1, saturate=1)
    if zero is not None:
        decoded = b("sub", decoded, zero, name="centred")
    return b("mul", decoded, scale, name="table")


def check(model: Model, lines: list[str]) -> None:
    feeds = {"i": np.array([[0, -1, 7], [299, 3, 0]], np.int64)}
    wanted = run(model, feeds)
    assert gather_before_decoding(model) > 0
    assert sketch(model) == lines
    assert_same_results(wanted, run(model, feeds))
    assert gather_before_decoding(model) == 0


def test_scale_of_each_row() -> None:
    b = Builder()
    y = b("gather", table(b, b.weights("scale", ROWS, 1)), b.input("i", 2, 3, dtype=7), name="y", axis=0)
    lines = [
        "y.decoded.stored = gather(stored, i) axis=0",
        "y.decoded = cast(y.decoded.stored) saturate=1 to=1",
        "y.scale = gather(scale, i) axis=0",
        "y = mul(y.decoded, y.scale)",
    ]
    model = b.model(y)
    feeds = {"i": np.array([[0, -1, 7], [299, 3, 0]], np.int64)}
    wanted = run(model, feeds)
    assert gather_before_decoding(model) == 2
    assert sorted(sketch(model)) == sorted(lines)
    assert sketch(model)[-1] == lines[-1]
    assert_same_results(wanted, run(model, feeds))


def test_scale_of_each_column_and_a_zero_point_for_all() -> None:
    b = Builder()
    zero = b.const([[3.0]], name="zero")
    y = b("gather", table(b, b.weights("scale", WIDTH), zero), b.input("i", 2, 3, dtype=7), name="y", axis=-2)
    lines = [
        "y.centred.decoded.stored = gather(stored, i) axis=0",
        "y.centred.decoded = cast(y.centred.decoded.stored) saturate=1 to=1",
        "y.centred = sub(y.centred.decoded, 3)",
        "y = mul(y.centred, scale)",
    ]
    check(b.model(y), lines)


def test_gathering_columns() -> None:
    b = Builder()
    y = b("gather", table(b, b.weights("scale", ROWS, 1)), b.const([[1, 0], [7, 2]], np.int64, "columns"), name="y", axis=1)
    b.input("i", 2, 3, dtype=7)
    lines = [
        "y.decoded.stored = gather(stored, columns) axis=1",
        "y.decoded = cast(y.decoded.stored) saturate=1 to=1",
        "y = mul(y.decoded, scale.1)",
    ]
    check(b.model(y), lines)


def test_a_table_that_others_read_stays() -> None:
    b = Builder()
    decoded = table(b, b.const(0.5))
    rows = b("gather", decoded, b("arg_reduce", b.input("x", 2, 5), kind="max", axis=1, keep_dims=0, select_last=0), axis=0)
    model = b.model(rows, b("matmul", decoded, b.input("z", WIDTH, 2)))
    check_unchanged(gather_before_decoding, model)


def test_what_is_computed_from_an_input_stays() -> None:
    b = Builder()
    scaled = b("mul", b.input("x", 5, 4), 2.0)
    check_unchanged(gather_before_decoding, b.model(b("gather", scaled, b.const([1, 0], np.int64), axis=0)))
