"""fuse_pad, fuse_activation and fuse_residual."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from pass_graphs import Builder, assert_same_results, check, check_unchanged, feeds_for, run, sketch

from jitney.converter.infer import infer_shapes
from jitney.converter.ir import Value
from jitney.converter.passes import run_passes
from jitney.converter.passes.fuse_activation import fuse_activation
from jitney.converter.passes.fuse_pad import fuse_pad
from jitney.converter.passes.fuse_residual import fuse_residual
from jitney.converter.passes.shapes import ShapeProof


def pad(b: Builder, x: Value, *pads: int, value: float | None = None, mode: str = "constant") -> Value:
    return b("pad", x, b.const(pads, np.int64), value, mode=mode, name="padded")


def pool(b: Builder, op: str, x: Value, pads: list[int] | None = None, **attributes: Any) -> Value:
    return b(op, x, name="y", kernel=[3, 3], strides=[2, 2], dilations=[1, 1], pads=pads or [0] * 4, **attributes)


def test_pad_into_conv() -> None:
    b = Builder()
    x = b.input("x", 1, 2, 5, 5)
    padded = pad(b, x, 0, 0, 1, 0, 0, 0, 1, 2, value=0.0)
    model = b.model(b.conv(padded, 3, 3, name="y", inputs=2, auto_pad="explicit"))
    check(fuse_pad, model, ["y = conv(x, y_w) auto_pad=explicit pads=[2,1,2,3]"])


def test_pad_over_given_axes_into_a_valid_conv() -> None:
    b = Builder()
    x = b.input("x", 1, 2, 5, 5)
    padded = b("pad", x, b.const([2, 1], np.int64), None, b.const([-1], np.int64), mode="constant")
    model = b.model(b.conv(padded, 3, 3, name="y", inputs=2, auto_pad="valid", pads=[0] * 4))
    check(fuse_pad, model, ["y = conv(x, y_w) auto_pad=explicit pads=[0,2,0,1]"])


def test_pads_that_stay() -> None:
    b = Builder()
    x = b.input("x", 1, 2, 5, 5)
    output = pad(b, x, *[0, 0, 1, 1] * 2)
    parts = [
        b.conv(pad(b, x, *[0, 0, 1, 1] * 2, value=1.0), 3, 3, inputs=2),
        b.conv(pad(b, x, *[0, 0, 1, 1] * 2, mode="edge"), 3, 3, inputs=2),
        b.conv(pad(b, x, *[0, 1, 0, 0] * 2), 3, 3, inputs=4),
        b.conv(pad(b, x, *[0, 0, -1, 1] * 2), 3, 3, inputs=2),
        b.conv(pad(b, x, *[0, 0, 1, 1] * 2), 3, 3, inputs=2, auto_pad="same_upper", pads=[0] * 4),
        output,
        b.conv(output, 3, 3, inputs=2),
        pool(b, "max_pool", pad(b, x, *[0, 0, 1, 1] * 2)),
        pool(b, "max_pool", pad(b, x, *[0, 0, 3, 3] * 2, value=-math.inf)),
        pool(b, "average_pool", pad(b, x, *[0, 0, 1, 1] * 2), [1] * 4, count_include_pad=0),
        pool(b, "average_pool", pad(b, x, *[0, 0, 1, 1] * 2), count_include_pad=0, ceil_mode=1),
    ]
    for index, value in enumerate(parts):
        value.name = f"part{index}"
    check_unchanged(fuse_pad, b.model(*parts))


@pytest.mark.parametrize("counted", [0, 1])
def test_pad_into_average_pool_counts(counted: int) -> None:
    b = Builder()
    x = b.input("x", 1, 2, 6, 6)
    model = b.model(
        pool(b, "average_pool", pad(b, x, *[0, 0, 1, 1] * 2), [counted] * 4, auto_pad="explicit", count_include_pad=counted)
    )
    pads = [1 + counted] * 4
    line = f"y = average_pool(x) auto_pad=explicit count_include_pad=1 dilations=[1,1] kernel=[3,3] pads={pads} strides=[2,2]"
    check(fuse_pad, model, [line.replace(", ", ",")])


def test_pad_into_max_pool() -> None:
    line = "y = max_pool({}) auto_pad=explicit dilations=[1,1] kernel=[3,3] pads=[1,1,1,1] strides=[2,2]"
    b = Builder()
    x = b.input("x", 1, 2, 6, 6)
    check(fuse_pad, b.model(pool(b, "max_pool", pad(b, x, *[0, 0, 1, 1] * 2, value=-math.inf))), [line.format("x")])
    b = Builder()
    positive = b("relu", b.input("x", 1, 2, 6, 6), name="r")
    check(fuse_pad, b.model(pool(b, "max_pool", pad(b, positive, *[0, 0, 1, 1] * 2))), ["r = relu(x)", line.format("r")])


ACTIVATIONS: list[tuple[str, tuple[float | None, ...], dict[str, Any], str]] = [
    ("relu", (), {}, "activation=relu"),
    ("clip", (0.0, 6.0), {}, "activation=clip alpha=0 beta=6"),
    ("clip", (None, 1.0), {}, "activation=clip alpha=-inf beta=1"),
    ("leaky_relu", (), {"alpha": 0.1}, "activation=leaky_relu alpha=0.1"),
    ("hard_swish", (), {}, "activation=hard_swish"),
    ("hard_sigmoid", (), {"alpha": 0.2, "beta": 0.5}, "activation=hard_sigmoid alpha=0.2 beta=0.5"),
    ("silu", (), {}, "activation=silu"),
    ("sigmoid", (), {}, "activation=sigmoid"),
    ("tanh", (), {}, "activation=tanh"),
    ("gelu", (), {"approximate": "none"}, "activation=gelu"),
    ("gelu", (), {"approximate": "tanh"}, "activation=gelu_tanh"),
]


@pytest.mark.parametrize(("op", "numbers", "attributes", "wanted"), ACTIVATIONS)
@pytest.mark.parametrize("product", ["conv", "conv_transpose", "matmul"])
def test_activation_into_product(
    op: str, numbers: tuple[float | None, ...], attributes: dict[str, Any], wanted: str, product: str
) -> None:
    b = Builder()
    x = b.input("x", 1, 3, 4, 4)
    weights = b.weights("w", 3, 3, 1, 1) if product != "matmul" else b.weights("w", 4, 5)
    y = b(op, b(product, x, weights), *numbers, name="y", **attributes)
    check(fuse_activation, b.model(y), [f"y = {product}(x, w) {wanted}"])


@pytest.mark.parametrize("shape", [(3, 1, 1), (1, 3, 1, 1), (1,), ()])
def test_prelu_into_conv(shape: tuple[int, ...]) -> None:
    b = Builder()
    y = b("prelu", b.conv(b.input("x", 1, 2, 4, 4), 3, name="conv"), b.weights("slope", *shape), name="y")
    model = b.model(y)
    feeds = feeds_for(model)
    wanted = run(model, feeds)
    assert fuse_activation(model) == 1
    assert [node.op for node in model.graph.nodes] == ["conv"]
    assert model.graph.nodes[0].attributes["activation"] == "prelu"
    assert_same_results(wanted, run(model, feeds))


def test_prelu_into_matmul_by_column() -> None:
    b = Builder()
    y = b("prelu", b("matmul", b.input("x", 3, 2), b.weights("w", 2, 4)), b.weights("slope", 4), name="y")
    check(fuse_activation, b.model(y), ["y = matmul(x, w, _, _, slope.1) activation=prelu"])


def test_activations_that_stay() -> None:
    b = Builder()
    x = b.input("x", 1, 3, 4, 4)
    shared, output = b.conv(x, 3), b.conv(x, 3)
    parts = [
        b("relu", shared),
        b("neg", shared),
        output,
        b("relu", output),
        b("relu", b("conv", x, b.weights("w", 3, 3, 1, 1), activation="relu")),
        b("relu", b("conv", x, b.weights("v", 3, 3, 1, 1), None, x, activation="sigmoid", residual="after")),
        b("prelu", b.conv(x, 3), b.weights("slope", 4)),
        b("clip", b.conv(x, 3), b("reduce", x, kind="min", keep_dims=0, noop_with_empty_axes=0)),
        b("elu", b.conv(x, 3), alpha=1.0),
    ]
    check_unchanged(fuse_activation, b.model(*parts))


def test_residual_before_and_its_activation_after() -> None:
    b = Builder()
    x = b.input("x", "N", 3, 4, 4)
    model = b.model(b("relu", b("add", b.conv(x, 3, 3, name="conv"), x), name="y"))
    wanted = run(model, feeds_for(model))
    results = {result.name: result.changes for result in run_passes(model) if result.changes}
    assert results == {"fuse_residual": 1, "fuse_activation": 1}
    assert sketch(model) == ["y = conv(x, conv_w, _, x) activation=relu pads=[1,1,1,1] residual=before"]
    assert_same_results(wanted, run(model, feeds_for(model)))


def test_residual_after_an_activation() -> None:
    b = Builder()
    x = b.input("x", "N", 3, 4, 4)
    conv = b("conv", x, b.weights("w", 3, 3, 1, 1), activation="silu")
    check(fuse_residual, b.model(b("add", x, conv, name="y")), ["y = conv(x, w, _, x) activation=silu residual=after"])


def test_of_two_products_the_one_without_activation_takes_the_other() -> None:
    b = Builder()
    x = b.input("x", 1, 3, 4, 4)
    plain = b.conv(x, 3, name="plain")
    active = b("conv", x, b.weights("w", 3, 3, 1, 1), name="active", activation="relu")
    model = b.model(b("add", active, plain, name="y"))
    lines = ["active = conv(x, w) activation=relu", "y = conv(x, plain_w, _, active) pads=[0,0,0,0] residual=before"]
    check(fuse_residual, model, lines)


def test_a_product_moves_behind_what_it_adds() -> None:
    b = Builder()
    x = b.input("x", 1, 3, 4, 4)
    early = b.conv(x, 3, name="early")
    late = b("exp", b("neg", x, name="n"), name="late")
    model = b.model(b("add", early, late, name="y"), b("neg", late, name="z"))
    lines = ["n = neg(x)", "late = exp(n)", "y = conv(x, early_w, _, late) pads=[0,0,0,0] residual=before", "z = neg(late)"]
    check(fuse_residual, model, lines)


def test_residual_of_matmul() -> None:
    b = Builder()
    x = b.input("x", "N", "L", 4)
    model = b.model(b("add", x, b("matmul", x, b.weights("w", 4, 4), b.weights("bias", 4)), name="y"))
    check(fuse_residual, model, ["y = matmul(x, w, bias, x) residual=before"])


def test_additions_that_stay() -> None:
    b = Builder()
    x = b.input("x", 1, 3, 4, 4)
    shared, twice, output = b.conv(x, 3), b.conv(x, 3), b.conv(x, 3)
    parts = [
        b("add", b.conv(x, 3), b.input("column", 1, 3, 4, 1)),
        b("add", b.conv(x, 1), x),
        b("add", b.conv(x, 3), b.input("batch", "N", 3, 4, 4)),
        b("add", shared, x),
        b("exp", shared),
        b("add", twice, twice),
        output,
        b("add", output, x),
        b("add", b("conv", x, b.weights("w", 3, 3, 1, 1), None, x), x),
        b("sub", b.conv(x, 3), x),
    ]
    check_unchanged(fuse_residual, b.model(*parts))


def test_dims_without_an_expression_are_proven_equal() -> None:
    b = Builder()
    x = b.input("x", 1, 3, "H", "W")
    halved = b.conv(x, 4, 3, name="halved", strides=[2, 2])
    other = b.conv(x, 4, 3, name="other", strides=[2, 2], pads=[0, 0, 2, 2])
    positive = b("relu", halved, name="r")
    same = b.conv(positive, 4, 3, name="same", inputs=4)
    pooled = b("max_pool", x, name="pooled", kernel=[2, 2], strides=[2, 2], pads=[0] * 4, dilations=[1, 1])
    transposed = b("transpose", positive, name="t", perm=[0, 1, 3, 2])
    model = b.model(b("add", same, halved, name="y"), other, pooled, transposed)
    assert halved.shape is not None
    assert halved.shape[2] is None
    proof = ShapeProof(model.graph)
    assert proof.same(halved, same)
    assert proof.same(halved, other)
    assert not proof.same(halved, pooled)
    assert not proof.same(halved, transposed)
    assert fuse_residual(model) == 1
    infer_shapes(model)
    for height in (5, 6):
        feeds = feeds_for(model, sizes={"H": height, "W": 8})
        assert run(model, feeds)["y"].shape == (1, 4, 3, 4)
