"""fold_constants: what the runtime can compute now becomes a constant, unless the file would grow."""

from __future__ import annotations

import numpy as np
from pass_graphs import Builder, check, check_unchanged, feeds_for, run, sketch

from jitney.converter.infer import infer_shapes
from jitney.converter.ir import Value
from jitney.converter.passes.fold_constants import fold_constants


def test_chain_of_constants() -> None:
    b = Builder()
    x = b.input("x", 2)
    three = b("add", 1.0, 2.0, name="three")
    check(fold_constants, b.model(b("mul", x, b("neg", three), name="y")), ["y = mul(x, -3)"])


def test_shape_of_a_known_shape_and_what_comes_after_it() -> None:
    b = Builder()
    x = b.input("x", 2, 3, 4)
    first = b("gather", b("shape", x, start=0), b.const([0], np.int64), axis=0)
    shape = b("concat", first, b.const([-1], np.int64), name="shape", axis=0)
    check(fold_constants, b.model(b("reshape", x, shape, name="y", allow_zero=0)), ["y = reshape(x, shape) allow_zero=0"])


def test_symbolic_parts_of_a_shape_stay() -> None:
    b = Builder()
    x = b.input("x", "N", 3)
    sizes = b("shape", x, name="sizes", start=0)
    second = b("gather", sizes, b.const(1, np.int64), name="second", axis=0)
    model = b.model(sizes, b("cast", second, name="y", to=1, saturate=1))
    check(fold_constants, model, ["sizes = shape(x) start=0"])
    assert run(model, {"x": np.zeros((5, 3), np.float32)})["y"] == 3.0


def test_of_several_results_the_first_is_known() -> None:
    b = Builder()
    x = b.input("x", 1, "N")
    parts = b.node("split", b("shape", x, start=0), name="part", results=2, axis=0)
    one, many = (value for value in parts.outputs if value is not None)
    model = b.model(b("reshape", x, b("concat", many, one, name="turned", axis=0), name="y", allow_zero=0))
    assert fold_constants(model) == 1
    assert run(model, {"x": np.zeros((1, 5), np.float32)})["y"].shape == (5, 1)


def test_folded_sizes_tell_inference_what_comes_next() -> None:
    b = Builder()
    count = b("cast", b("add", 1.0, 2.0), to=7, saturate=1)
    shape = b("unsqueeze", count, b.const([0], np.int64))
    filled = b("constant_of_shape", shape, b.const([7.0]), name="filled")
    model = b.model(b("add", b.input("x", 3), filled, name="y"))
    check(fold_constants, model, ["y = add(x, filled)"])
    np.testing.assert_array_equal(model.graph.nodes[0].inputs[1].constant, [7, 7, 7])  # type: ignore[union-attr]


def test_int8_weights_stay_int8() -> None:
    b = Builder()
    weights = b.const(b.random.integers(-128, 128, (128, 64)), np.int8, "w")
    scale = b("mul", b.const(np.full(64, 0.5)), 0.25, name="scale")
    decoded = b("dequantize", weights, scale, name="decoded", axis=1, block=0, to=1, saturate=1)
    other = b("mul", b("cast", weights, name="cast", to=1, saturate=1), 0.1, name="scaled")
    x = b.input("x", 2, 128)
    model = b.model(b("matmul", x, decoded, name="y"), b("matmul", x, other, name="z"))
    check(
        fold_constants,
        model,
        [
            "decoded = dequantize(w, scale) axis=1 block=0 saturate=1 to=1",
            "cast = cast(w) saturate=1 to=1",
            "scaled = mul(cast, 0.1)",
            "y = matmul(x, decoded)",
            "z = matmul(x, scaled)",
        ],
    )
    assert weights.constant is not None
    assert weights.constant.dtype == np.int8


def test_small_int8_constants_are_decoded() -> None:
    b = Builder()
    decoded = b("dequantize", b.const([3, -4], np.int8), 0.5, name="c", axis=0, block=0, to=1, saturate=1)
    check(fold_constants, b.model(b("add", b.input("x", 2), decoded, name="y")), ["y = add(x, c)"])


def test_a_large_transpose_is_folded_only_if_it_replaces_its_operand() -> None:
    b = Builder()
    table = b.weights("table", 64, 48)
    turned = b("transpose", table, name="turned", perm=[1, 0])
    check(fold_constants, b.model(b("matmul", b.input("x", 2, 48), turned, name="y")), ["y = matmul(x, turned)"])

    b = Builder()
    table = b.weights("table", 64, 48)
    turned = b("transpose", table, name="turned", perm=[1, 0])
    model = b.model(b("matmul", b.input("x", 2, 48), turned, name="y"), b("matmul", b.input("z", 2, 64), table, name="t"))
    check_unchanged(fold_constants, model)


def test_large_filled_tensors_stay_computed() -> None:
    b = Builder()
    filled = b("constant_of_shape", b.const([64, 64], np.int64), b.const([1.0]), name="filled")
    check_unchanged(fold_constants, b.model(b("add", b.input("x", 64, 64), filled, name="y")))


def test_huge_intermediates_are_not_computed() -> None:
    b = Builder()
    filled = b("expand", b.const([1.0]), b.const([1 << 20, 1 << 20], np.int64))
    total = b("reduce", filled, kind="sum", keep_dims=0, noop_with_empty_axes=0)
    model = b.model(b("add", b.input("x", 2), total, name="y"))
    before = sketch(model)
    assert fold_constants(model) == 0
    assert sketch(model) == before


def test_a_node_that_fails_stays_and_spares_the_others() -> None:
    b = Builder()
    x = b.input("x", 2)
    bad = b("gather", b.const([1.0, 2.0]), b.const([5], np.int64), name="bad", axis=0)
    good = b("add", 1.0, 1.0, name="good")
    model = b.model(b("add", x, bad, name="y"), b("add", x, good, name="z"))
    assert fold_constants(model) == 1
    assert [line.split(" = ")[0] for line in sketch(model)] == ["bad", "y", "z"]


def test_outputs_may_become_constants() -> None:
    b = Builder()
    b.input("x", 2)
    model = b.model(b("add", 1.0, 2.0, name="y"))
    check(fold_constants, model, [])
    assert run(model, feeds_for(model))["y"] == 3.0


def test_narrow_types_keep_their_type() -> None:
    for dtype, number in ((np.float16, 10), (np.float64, 11), (np.int32, 6), (np.bool_, 9)):
        b = Builder()
        one = b.const([1, 0], dtype)
        model = b.model(b("concat", b("concat", one, one, axis=0), b.input("x", 1, dtype=number), name="y", axis=0))
        assert fold_constants(model) == 1
        folded = model.graph.nodes[0].inputs[0]
        assert folded is not None
        assert folded.constant is not None
        assert folded.constant.dtype == dtype
    b = Builder()
    model = b.model(
        b("cast", b("add", b("cast", b.const([1.5]), to=16, saturate=1), b.input("x", 1, dtype=16)), to=1, saturate=1)
    )
    assert fold_constants(model) == 1
    infer_shapes(model)
    assert isinstance(model.graph.inputs[0], Value)
