"""fold_affine, fold_input_affine and fold_matmul_operands: constants around products go into weights, bias and attributes."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto
from pass_graphs import Array, Builder, assert_same_results, check, check_unchanged, feeds_for, run

from jitney.converter.ir import Node, Value
from jitney.converter.passes.fold_affine import fold_affine
from jitney.converter.passes.fold_input_affine import fold_input_affine
from jitney.converter.passes.fold_matmul_operands import fold_matmul_operands


def normalise(b: Builder, x: Value, channels: int, stem: str) -> Value:
    """Batch normalisation as lowering writes it."""
    scaled = b("mul", x, b.weights(f"{stem}_scale", channels, 1, 1), name=f"{stem}_scaled")
    return b("add", scaled, b.weights(f"{stem}_shift", channels, 1, 1), name=stem)


def array(node: Node, index: int) -> Array:
    value = node.inputs[index]
    assert value is not None
    assert value.constant is not None
    return value.constant


@pytest.mark.parametrize("group", [1, 2, 4])
def test_batch_norm_after_conv(group: int) -> None:
    b = Builder()
    x = b.input("x", "N", 4, 5, 5)
    model = b.model(normalise(b, b.conv(x, 8, 3, name="conv", group=group), 8, "y"))
    check(fold_affine, model, [f"y = conv(x, conv_w.1, y_scaled.bias) group={group} pads=[1,1,1,1]"])


@pytest.mark.parametrize("group", [1, 2])
def test_batch_norm_after_conv_transpose(group: int) -> None:
    b = Builder()
    x = b.input("x", 2, 4, 5, 5)
    y = b("conv_transpose", x, b.weights("w", 4, 3, 2, 2), b.weights("bias", 3 * group), name="up", strides=[2, 2], group=group)
    model = b.model(normalise(b, y, 3 * group, "y"))
    check(fold_affine, model, [f"y = conv_transpose(x, w.1, bias.1.1) group={group} strides=[2,2]"])


def test_every_operation_in_a_row() -> None:
    b = Builder()
    y = b.conv(b.input("x", 1, 2, 4, 4), 3, name="conv")
    y = b("div", y, b.const(np.full((1, 3, 1, 1), 3.0)))
    y = b("sub", y, b.weights("s", 3, 1, 1))
    y = b("sub", b.weights("t", 1, 3, 1, 1), y)
    y = b("neg", y)
    model = b.model(b("add", 2.0, y, name="y"))
    feeds = feeds_for(model)
    wanted = run(model, feeds)
    assert fold_affine(model) == 5
    assert [node.op for node in model.graph.nodes] == ["conv"]
    assert_same_results(wanted, run(model, feeds))


def test_shared_weights_are_not_changed_in_place() -> None:
    b = Builder()
    x = b.input("x", 1, 2, 4, 4)
    weights = b.weights("w", 3, 2, 1, 1)
    original = np.copy(weights.constant) if weights.constant is not None else None
    first, second = b("conv", x, weights, name="first"), b("conv", x, weights, name="second")
    model = b.model(normalise(b, first, 3, "y"), normalise(b, second, 3, "z"), b("conv", x, weights, name="plain"))
    lines = ["y = conv(x, w.1, y_scaled.bias)", "z = conv(x, w.2, z_scaled.bias)", "plain = conv(x, w)"]
    check(fold_affine, model, lines)
    np.testing.assert_array_equal(weights.constant, original)


def test_nothing_folds_across_an_output_or_a_second_reader() -> None:
    b = Builder()
    x = b.input("x", 1, 2, 4, 4)
    first, second = b.conv(x, 3), b.conv(x, 3)
    check_unchanged(fold_affine, b.model(first, normalise(b, first, 3, "y"), normalise(b, second, 3, "z"), b("neg", second)))


def test_what_varies_otherwise_stays() -> None:
    b = Builder()
    x = b.input("x", 1, 2, 4, 4)
    parts = [
        b("mul", b.conv(x, 3), b.weights("per_column", 4)),
        b("mul", b.conv(x, 3), b.weights("per_sample", 2, 1, 1, 1)),
        b("add", b.conv(x, 1), b.weights("more_channels", 3, 1, 1)),
        b("add", b.conv(x, 3), b.weights("more_axes", 1, 1, 3, 1, 1)),
        b("div", 1.0, b.conv(x, 3)),
        b("mul", b("conv", x, b.weights("w", 3, 2, 1, 1), activation="relu"), 2.0),
        b("mul", b("conv", x, b("neg", b.weights("v", 3, 2, 1, 1))), b.weights("s", 3, 1, 1)),
    ]
    check_unchanged(fold_affine, b.model(*parts))


def test_overflowing_weights_stay() -> None:
    b = Builder()
    x = b.input("x", 1, 1, 2, 2, dtype=10)
    y = b("conv", x, b.const(np.full((1, 1, 1, 1), 6e4), np.float16))
    model = b.model(b("mul", y, b.const(2.0, np.float16)))
    assert fold_affine(model) == 0


@pytest.mark.parametrize("trans_b", [0, 1])
def test_rows_after_matmul(trans_b: int) -> None:
    b = Builder()
    weights = b.weights("w", *((5, 4) if trans_b else (4, 5)))
    y = b("matmul", b.input("x", "N", 3, 4), weights, name="mm", trans_b=trans_b)
    y = b("mul", b("add", y, b.weights("row", 5), name="sum"), b.weights("scale", 1, 5), name="y")
    check(fold_affine, b.model(y), [f"y = matmul(x, w.1, mm.bias.1) trans_b={trans_b}"])


def test_numbers_after_matmul_use_its_scale() -> None:
    b = Builder()
    y = b("matmul", b.input("x", 2, 3), b.input("z", 3, 4), name="mm")
    y = b("div", b("add", y, b.weights("row", 4), name="sum"), 4.0, name="y")
    check(fold_affine, b.model(y), ["y = matmul(x, z, mm.bias.1) scale=0.25"])


def test_columns_are_no_bias() -> None:
    b = Builder()
    y = b("matmul", b.input("x", 4, 3), b.input("z", 3), name="mm")
    z = b("matmul", b.input("u", 4, 3), b.input("v", 3, 4))
    check_unchanged(fold_affine, b.model(b("add", y, b.weights("row", 4)), b("add", z, b.weights("column", 4, 1))))


@pytest.mark.parametrize("group", [1, 2])
def test_normalisation_in_front_of_an_unpadded_conv(group: int) -> None:
    b = Builder()
    x = b.input("x", "N", 4, 5, 5)
    ready = b("div", b("sub", x, b.weights("mean", 1, 4, 1, 1)), b.const([2.0]))
    model = b.model(b("conv", ready, b.weights("w", 6, 4 // group, 3, 3), name="y", group=group))
    check(fold_input_affine, model, [f"y = conv(x, w.1, y.bias) group={group}"])


def test_padding_lets_only_factors_in() -> None:
    b = Builder()
    x = b.input("x", 1, 4, 5, 5)
    scaled = b("mul", x, b.const([2.0]), name="scaled")
    shifted = b("add", scaled, b.weights("shift", 4, 1, 1), name="shifted")
    model = b.model(b.conv(shifted, 6, 3, name="y", inputs=4))
    check(fold_input_affine, model, ["shifted = add(x, shifted.shift)", "y = conv(shifted, y_w.1) pads=[1,1,1,1]"])


def test_a_factor_in_front_folds_under_an_activation_and_a_residual() -> None:
    b = Builder()
    x, r = b.input("x", 1, 2, 4, 4), b.input("r", 1, 3, 4, 4)
    scaled = b("mul", x, b.weights("s", 2, 1, 1))
    model = b.model(b("conv", scaled, b.weights("w", 3, 2, 1, 1), None, r, name="y", activation="relu"))
    check(fold_input_affine, model, ["y = conv(x, w.1, _, r) activation=relu"])


def test_constants_in_front_of_conv_transpose_and_matmul() -> None:
    b = Builder()
    x, z = b.input("x", 1, 2, 4, 4), b.input("z", 3, 4)
    up = b("conv_transpose", b("mul", x, b.weights("s", 2, 1, 1)), b.weights("w", 2, 3, 2, 2), name="up")
    affine = b("add", b("mul", z, b.weights("f", 4)), b.weights("t", 4))
    model = b.model(up, b("matmul", affine, b.weights("v", 4, 5), name="mm", scale=0.5))
    lines = ["up = conv_transpose(x, w.1)", "mm = matmul(z, v.1, mm.bias.1) scale=0.5"]
    feeds = feeds_for(model)
    wanted = run(model, feeds)
    assert fold_input_affine(model) == 3
    assert [line.split("(")[0] for line in lines] == [f"{node.output.name} = {node.op}" for node in model.graph.nodes]
    assert_same_results(wanted, run(model, feeds))


def test_enlarging_operands_stay_in_front() -> None:
    b = Builder()
    x, z = b.input("x", 1, 1, 4, 4), b.input("z", 1, 2, 4, 4)
    parts = [
        b("conv", b("mul", x, b.weights("s", 2, 1, 1)), b.weights("w", 3, 2, 1, 1)),
        b("conv", b("mul", z, b.weights("t", 4)), b.weights("v", 3, 2, 1, 1)),
        b("conv_transpose", b("add", z, 1.0), b.weights("u", 2, 3, 2, 2)),
    ]
    check_unchanged(fold_input_affine, b.model(*parts))


def test_scaled_operands_of_matmul() -> None:
    b = Builder()
    q, k = b.input("q", 2, 3, 4), b.input("k", 2, 4, 5)
    model = b.model(b("matmul", b("div", q, 8.0), b("neg", b("mul", 0.5, k)), name="y"))
    check(fold_matmul_operands, model, ["y = matmul(q, k) scale=-0.0625"])


def test_operands_of_16_bits_stay_scaled_where_that_rounds() -> None:
    b = Builder()
    q, k = (
        b("cast", b.input(name, *shape), to=int(TensorProto.FLOAT16), saturate=1, name=f"{name}16")
        for name, shape in (("q", (2, 3, 4)), ("k", (2, 4, 5)))
    )
    third, half = b.const(0.3, np.float16, "third"), b.const(0.5, np.float16, "half")
    model = b.model(b("matmul", b("mul", q, third, name="scaled"), b("mul", k, half), name="y"))
    casts = [f"{name}16 = cast({name}) saturate=1 to=10" for name in "qk"]
    check(fold_matmul_operands, model, [casts[0], casts[1], "scaled = mul(q16, 0.300049)", "y = matmul(scaled, k16) scale=0.5"])


def test_transposed_operands_of_matmul() -> None:
    b = Builder()
    a, c = b.input("a", 2, 4, 3), b.input("c", 2, 5, 4)
    left, right = b("transpose", a, perm=[0, 2, 1]), b("transpose", c, perm=[0, 2, 1])
    check(fold_matmul_operands, b.model(b("matmul", left, right, name="y")), ["y = matmul(a, c) trans_a=1 trans_b=1"])


def test_a_transpose_that_moves_the_last_axis_keeps_rows_dense() -> None:
    b = Builder()
    q, k = b.input("q", "N", 2, "L", 8), b.input("k", "N", "L", 2, 8)
    turned = b("transpose", k, name="turned", perm=[0, 2, 3, 1])
    model = b.model(b("matmul", q, turned, name="y"))
    check(fold_matmul_operands, model, ["turned.1 = transpose(k) perm=[0,2,1,3]", "y = matmul(q, turned.1) trans_b=1"])


def test_operands_that_others_read_stay_scaled_but_may_be_transposed() -> None:
    b = Builder()
    a, c = b.input("a", 3, 4), b.input("c", 5, 4)
    scaled, turned = b("mul", a, 2.0, name="scaled"), b("transpose", c, name="turned", perm=[1, 0])
    model = b.model(b("matmul", scaled, turned, name="y"), scaled, b("neg", turned, name="z"))
    check(
        fold_matmul_operands,
        model,
        ["scaled = mul(a, 2)", "turned = transpose(c) perm=[1,0]", "y = matmul(scaled, c) trans_b=1", "z = neg(turned)"],
    )


def test_large_shared_weights_are_not_copied() -> None:
    for size, changes in ((8, 1), (600, 0)):
        b = Builder()
        weights = b.weights("w", size, size)
        plain = b("matmul", b.input("x", 2, size), weights)
        scaled = b("mul", b("matmul", b.input("z", 2, size), weights), b.weights("s", size))
        assert fold_affine(b.model(plain, scaled)) == changes
