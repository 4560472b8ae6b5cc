"""recognise_clip, recognise_activation and recognise_layer_norm: every usual spelling, and look-alikes that must stay."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from pass_graphs import Builder, check, check_unchanged, sketch

from jitney.converter.ir import Value
from jitney.converter.passes.recognise_activation import recognise_activation
from jitney.converter.passes.recognise_clip import recognise_clip
from jitney.converter.passes.recognise_layer_norm import recognise_layer_norm

Spelling = Callable[[Builder, Value], Value]

CLIPS: list[tuple[str, Spelling]] = [
    ("y = relu(x)", lambda b, x: b("max", x, 0.0, name="y")),
    ("y = relu(x)", lambda b, x: b("clip", x, 0.0, name="y")),
    ("y = relu(x)", lambda b, x: b("clip", x, 0.0, math.inf, name="y")),
    ("y = clip(x, 0, 6)", lambda b, x: b("min", b("max", x, 0.0), 6.0, name="y")),
    ("y = clip(x, 0, 6)", lambda b, x: b("max", 0.0, b("min", 6.0, x), name="y")),
    ("y = clip(x, 0, 6)", lambda b, x: b("min", b("relu", x), 6.0, name="y")),
    ("y = clip(x, 0, 6)", lambda b, x: b("relu", b("clip", x, None, 6.0), name="y")),
    ("y = clip(x, 1, 2)", lambda b, x: b("clip", b("clip", x, -1.0, 2.0), 1.0, 3.0, name="y")),
    ("y = clip(x, _, 2)", lambda b, x: b("min", x, 2.0, name="y")),
    ("y = clip(x, _, -inf)", lambda b, x: b("min", x, -math.inf, name="y")),
    ("y = relu(x)", lambda b, x: b("relu", b("relu", x), name="y")),
]


@pytest.mark.parametrize(("wanted", "spelling"), CLIPS)
def test_clips(wanted: str, spelling: Spelling) -> None:
    b = Builder()
    check(recognise_clip, b.model(spelling(b, b.input("x", "N", 3))), [wanted])


def test_no_clips() -> None:
    b = Builder()
    x = b.input("x", 2, 3)
    shared = b("clip", x, -1.0, 1.0)
    parts = [
        b("max", x, b.const([[[0.0]]])),
        b("max", x, b.const([0.0, 0.0, 0.0])),
        b("relu", shared),
        b("min", shared, x),
        b("clip", b("clip", x, 2.0, 1.0), 0.0, 3.0),
        b("cast", b("max", b("cast", x, to=7, saturate=1), b.const(0, np.int64)), to=1, saturate=1),
    ]
    check_unchanged(recognise_clip, b.model(*parts))


def hard_six(b: Builder, x: Value) -> Value:
    return b("clip", b("add", x, 3.0), 0.0, 6.0)


def gate(b: Builder, x: Value) -> Value:
    """1 + erf(x / √2)"""
    return b("add", b("erf", b("div", x, math.sqrt(2))), 1.0)


def tanh_gate(b: Builder, x: Value, cube: Value) -> Value:
    inner = b("mul", b("add", x, b("mul", cube, 0.044715)), math.sqrt(2 / math.pi))
    return b("add", 1.0, b("tanh", inner))


def exp_negative(b: Builder, x: Value) -> Value:
    return b("add", 1.0, b("exp", b("neg", x)))


ACTIVATIONS: list[tuple[str, Spelling]] = [
    ("y = sigmoid(x)", lambda b, x: b("div", 1.0, exp_negative(b, x), name="y")),
    ("y = sigmoid(x)", lambda b, x: b("reciprocal", exp_negative(b, x), name="y")),
    ("y = silu(x)", lambda b, x: b("mul", x, b("sigmoid", x), name="y")),
    ("y = silu(x)", lambda b, x: b("mul", b("sigmoid", x), x, name="y")),
    ("y = silu(x)", lambda b, x: b("div", x, exp_negative(b, x), name="y")),
    ("y = softplus(x)", lambda b, x: b("log", b("add", b("exp", x), 1.0), name="y")),
    ("y = mish(x)", lambda b, x: b("mul", x, b("tanh", b("softplus", x)), name="y")),
    ("y = mish(x)", lambda b, x: b("mul", b("tanh", b("log", b("add", 1.0, b("exp", x)))), x, name="y")),
    ("y = softsign(x)", lambda b, x: b("div", x, b("add", 1.0, b("abs", x)), name="y")),
    ("y = hard_swish(x)", lambda b, x: b("mul", x, b("hard_sigmoid", x, alpha=0.16666667, beta=0.5), name="y")),
    ("y = hard_swish(x)", lambda b, x: b("div", b("mul", x, hard_six(b, x)), 6.0, name="y")),
    ("y = hard_swish(x)", lambda b, x: b("mul", b("mul", hard_six(b, x), x), 1 / 6, name="y")),
    ("y = hard_swish(x)", lambda b, x: b("mul", x, b("div", hard_six(b, x), 6.0), name="y")),
    ("y = hard_swish(x)", lambda b, x: b("mul", b("mul", x, 1 / 6), hard_six(b, x), name="y")),
    ("y = hard_sigmoid(x) alpha=0.166667 beta=0.5", lambda b, x: b("div", hard_six(b, x), 6.0, name="y")),
    ("y = hard_sigmoid(x) alpha=0.166667 beta=0.5", lambda b, x: b("mul", 1 / 6, hard_six(b, x), name="y")),
    ("y = hard_sigmoid(x) alpha=0.2 beta=0.5", lambda b, x: b("clip", b("add", b("mul", x, 0.2), 0.5), 0.0, 1.0, name="y")),
    ("y = hard_sigmoid(x) alpha=0.25 beta=0.5", lambda b, x: b("clip", b("add", 0.5, b("div", x, 4.0)), 0.0, 1.0, name="y")),
    ("y = gelu(x) approximate=none", lambda b, x: b("mul", b("mul", x, gate(b, x)), 0.5, name="y")),
    ("y = gelu(x) approximate=none", lambda b, x: b("mul", b("mul", x, 0.5), gate(b, x), name="y")),
    ("y = gelu(x) approximate=none", lambda b, x: b("mul", x, b("mul", 0.5, gate(b, x)), name="y")),
    ("y = gelu(x) approximate=none", lambda b, x: b("div", b("mul", gate(b, x), x), 2.0, name="y")),
    (
        "y = gelu(x) approximate=none",
        lambda b, x: b("mul", x, b("add", b("mul", b("erf", b("mul", x, math.sqrt(0.5))), 0.5), 0.5), name="y"),
    ),
    (
        "y = gelu(x) approximate=tanh",
        lambda b, x: b("mul", b("mul", 0.5, x), tanh_gate(b, x, b("pow", x, 3.0)), name="y"),
    ),
    (
        "y = gelu(x) approximate=tanh",
        lambda b, x: b("mul", 0.5, b("mul", x, tanh_gate(b, x, b("mul", b("mul", x, x), x))), name="y"),
    ),
    ("y = leaky_relu(x) alpha=0.1", lambda b, x: b("max", x, b("mul", x, 0.1), name="y")),
    ("y = leaky_relu(x) alpha=0.1", lambda b, x: b("where", b("greater", x, 0.0), x, b("mul", 0.1, x), name="y")),
    ("y = leaky_relu(x) alpha=0.1", lambda b, x: b("prelu", x, b.const([0.1]), name="y")),
    (
        "y = prelu(x, slope)",
        lambda b, x: b("sub", b("relu", x), b("mul", b.const([0.1, 0.2, 0.3], name="slope"), b("relu", b("neg", x))), name="y"),
    ),
]


@pytest.mark.parametrize(("wanted", "spelling"), ACTIVATIONS)
@pytest.mark.parametrize("leaf", [False, True])
def test_activations(wanted: str, spelling: Spelling, leaf: bool) -> None:
    """On an input, and on a product, which must not be mistaken for a part of the spelling."""
    b = Builder()
    x = b.input("x", "N", 3)
    if leaf:
        check(recognise_activation, b.model(spelling(b, x)), [wanted])
    else:
        product = b("mul", b("add", x, 1.0, name="p"), b.input("z", "N", 3), name="xz")
        lines = ["p = add(x, 1)", "xz = mul(p, z)", wanted.replace("(x", "(xz")]
        check(recognise_activation, b.model(spelling(b, product)), lines)


def test_look_alikes_stay() -> None:
    b = Builder()
    x, z = b.input("x", 2, 3), b.input("z", 2, 3)
    parts = [
        b("mul", x, b("sigmoid", z)),
        b("mul", x, b("sigmoid", b("mul", x, 1.702))),
        b("mul", x, b("hard_sigmoid", x, alpha=0.2, beta=0.5)),
        b("div", b("mul", x, b("clip", b("add", x, 3.0), 0.0, 6.0)), 5.0),
        b("mul", b("mul", x, gate(b, z)), 0.5),
        b("mul", b("mul", x, b("add", b("erf", b("div", x, 1.4)), 1.0)), 0.5),
        b("max", x, b("mul", x, 1.5)),
        b("div", b("clip", b("add", x, 3.0), 0.0, 6.0), 5.0),
        b("mul", x, b("sigmoid", x, name="kept")),
        b("mul", b("mul", x, b("add", b("erf", b("div", x, b.const([[[math.sqrt(2)]]]))), 1.0)), 0.5),
    ]
    gates = [node.output for node in b.graph.nodes if node.name == "kept"]
    check_unchanged(recognise_activation, b.model(*parts, *gates))


def test_half_precision_constants_are_compared_as_such() -> None:
    b = Builder()
    x = b.input("x", 2, dtype=10)

    def half(number: float) -> Value:
        return b.const(number, np.float16)

    y = b("mul", b("mul", x, b("add", b("erf", b("div", x, half(1.4142))), half(1.0))), half(0.5), name="y")
    model = b.model(y)
    assert recognise_activation(model) == 1
    assert sketch(model) == ["y = gelu(x) approximate=none"]


def normalised(b: Builder, x: Value, axes: list[int], root: str = "div", square: str = "pow", name: str = "y") -> Value:
    def mean(value: Value) -> Value:
        return b("reduce", value, b.const(axes, np.int64), kind="mean", keep_dims=1, noop_with_empty_axes=0)

    centred = b("sub", x, mean(x))
    variance = mean(b("pow", centred, 2.0) if square == "pow" else b("mul", centred, centred))
    shifted = b("add", variance, 1e-5)
    if root == "div":
        return b("div", centred, b("sqrt", shifted), name=name)
    if root == "reciprocal":
        return b("mul", centred, b("reciprocal", b("sqrt", shifted)), name=name)
    return b("mul", b("pow", shifted, -0.5), centred, name=name)


@pytest.mark.parametrize("root", ["div", "reciprocal", "power"])
@pytest.mark.parametrize("square", ["pow", "mul"])
def test_layer_norm(root: str, square: str) -> None:
    b = Builder()
    core = normalised(b, b.input("x", "N", 5, 4), [-1], root, square, name="core")
    scaled = b("mul", core, b.weights("scale", 4))
    model = b.model(b("add", b.weights("bias", 1, 1, 4), scaled, name="y"))
    check(recognise_layer_norm, model, ["y = layer_norm(x, scale.1, bias.1) axis=2 epsilon=1e-05"])


def test_layer_norm_over_two_axes_with_one_number_as_scale() -> None:
    b = Builder()
    core = normalised(b, b.input("x", 2, 3, 4), [2, -2], name="core")
    check(
        recognise_layer_norm,
        b.model(b("mul", b.const(2.0, name="c"), core, name="y")),
        ["y = layer_norm(x, c.1) axis=1 epsilon=1e-05"],
    )


def test_no_layer_norm() -> None:
    b = Builder()
    x = b.input("x", 2, 3, 4)
    first = normalised(b, x, [1], name="not_trailing")
    centred = b.graph.nodes[1].output
    second = normalised(b, x, [2], name="read_elsewhere")
    inner = b.graph.nodes[-6].output
    model = b.model(first, second, b("neg", inner), b("neg", centred))
    check_unchanged(recognise_layer_norm, model)


def test_scales_that_vary_otherwise_stay_outside() -> None:
    b = Builder()
    core = normalised(b, b.input("x", 2, 3, 4), [2], name="core")
    model = b.model(b("mul", core, b.weights("scale", 3, 1), name="y"))
    check(recognise_layer_norm, model, ["core = layer_norm(x) axis=2 epsilon=1e-05", "y = mul(core, scale)"])
