"""For every pass: a random small graph gives the same results before and after, whatever is shared and whatever is an output."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Final

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pass_graphs import Builder, assert_same_results, feeds_for, run

from jitney.converter import ir
from jitney.converter.infer import infer_shapes
from jitney.converter.ir import Graph, Model, Node, Value
from jitney.converter.passes import PASSES, run_passes

CHANNELS, SIZE = 4, 5
Step = Callable[[Builder, list[Value]], Value]


def ints(b: Builder, *numbers: int) -> Value:
    return b.const(numbers, np.int64)


def channels(b: Builder) -> Value:
    return b.const(b.random.uniform(0.5, 1.5, (CHANNELS, 1, 1)))


def conv(b: Builder, x: Value, kernel: int = 3, **attributes: int | str) -> Value:
    return b.conv(x, CHANNELS, kernel, inputs=CHANNELS, **attributes)


def padded(b: Builder, x: Value, value: float | None = None) -> Value:
    return b("pad", x, ints(b, *[0, 0, 1, 1] * 2), value, mode="constant")


def pool(b: Builder, op: str, x: Value, pad: int, **attributes: int) -> Value:
    return b(op, x, kernel=[3, 3], strides=[1, 1], dilations=[1, 1], pads=[pad] * 4, **attributes)


def mean(b: Builder, x: Value) -> Value:
    return b("reduce", x, ints(b, 3), kind="mean", keep_dims=1, noop_with_empty_axes=0)


def rms_norm(b: Builder, x: Value) -> Value:
    normed = b("div", x, b("sqrt", b("add", mean(b, b("mul", x, x)), 1e-2)))
    return b("mul", normed, b.weights("scale", SIZE))


def layer_norm(b: Builder, x: Value) -> Value:
    return b("add", rms_norm(b, b("sub", x, mean(b, x))), b.weights("shift", SIZE))


def group_norm(b: Builder, x: Value) -> Value:
    rows = b("reshape", x, ints(b, 0, 2, -1), allow_zero=0)
    normed = b("instance_norm", rows, b.weights("scale", 2), b.weights("shift", 2), epsilon=1e-2)
    return b("mul", b("reshape", normed, ints(b, 0, CHANNELS, SIZE, SIZE), allow_zero=0), channels(b))


def turned(b: Builder, x: Value) -> Value:
    return b("transpose", b("transpose", x, perm=[0, 2, 3, 1]), perm=[0, 3, 1, 2])


def flattened(b: Builder, x: Value) -> Value:
    sizes = b("concat", b("gather", b("shape", x, start=0), ints(b, 0), axis=0), ints(b, CHANNELS, SIZE, SIZE), axis=0)
    return b("reshape", b("unsqueeze", b("flatten", x, axis=1), ints(b, 1)), sizes, allow_zero=0)


def attention(b: Builder, x: Value, y: Value) -> Value:
    scores = b("matmul", b("mul", x, 0.5), b("transpose", y, perm=[0, 1, 3, 2]))
    return b("matmul", b("softmax", b("div", scores, 2.0), axis=3), x)


def gelu(b: Builder, x: Value) -> Value:
    return b("mul", b("mul", x, 0.5), b("add", b("erf", b("div", x, math.sqrt(2))), 1.0))


def hard_swish(b: Builder, x: Value) -> Value:
    return b("div", b("mul", x, b("clip", b("add", x, 3.0), 0.0, 6.0)), 6.0)


def embedding(b: Builder, x: Value) -> Value:
    table = b("mul", b("cast", b.const(b.random.integers(-9, 9, (500, SIZE)), np.int8), to=1, saturate=1), b.weights("s", 500, 1))
    return b("gather", table, b("arg_reduce", x, kind="max", axis=3, keep_dims=0, select_last=0), axis=0)


def branching(b: Builder, x: Value, y: Value, condition: Value) -> Value:
    """x·c + y if the condition holds, else x."""

    def branch(taken: bool) -> Graph:
        left, right, factor = (Value(name, 1, [ir.symbol("N"), CHANNELS, SIZE, SIZE]) for name in ("left", "right", "factor"))
        factor.shape = [CHANNELS, 1, 1]
        product, total = Value("product"), Value("total")
        nodes = [Node("mul", [left, factor], [product]), Node("add", [product, right], [total])] if taken else []
        return Graph("branch", [left, right, factor], [total if taken else left], nodes)

    return b("if", condition, x, y, channels(b), then=branch(True), **{"else": branch(False)})


def looping(b: Builder, x: Value, y: Value) -> Value:
    """x·c + y, twice; the loop carries c, which stays as it is."""
    shapes = {"i": [], "go": [], "x": ["N", CHANNELS, SIZE, SIZE], "c": [CHANNELS, 1, 1], "y": ["N", CHANNELS, SIZE, SIZE]}
    i, go, carried, factor, right = (
        Value(name, {"i": 7, "go": 9}.get(name, 1), [ir.symbol(dim) if isinstance(dim, str) else dim for dim in shape])
        for name, shape in shapes.items()
    )
    product, total = Value("product"), Value("total")
    nodes = [Node("mul", [carried, factor], [product]), Node("add", [product, right], [total])]
    body = Graph("body", [i, go, carried, factor, right], [go, total, factor], nodes)
    operands = [b.const(2, np.int64), b.const(True, np.bool_), x, channels(b), y]
    return b("loop", *operands, results=2, body=body, carried=2, joined=[])


def is_positive(b: Builder, x: Value) -> Value:
    return b("greater", b("reduce", x, kind="sum", keep_dims=0, noop_with_empty_axes=0), 0.0)


STEPS: Final[dict[str, Step]] = {
    "conv": lambda b, v: conv(b, v[0]),
    "conv twin": lambda b, v: b("conv", v[0], b.twin, pads=[1] * 4),
    "conv valid": lambda b, v: conv(b, padded(b, v[0]), auto_pad="valid", pads=[0] * 4),  # type: ignore[arg-type]
    "depthwise": lambda b, v: conv(b, v[0], group=CHANNELS),
    "up": lambda b, v: b("conv_transpose", v[0], b.weights("w", CHANNELS, 2, 3, 3), pads=[1] * 4, group=2),
    "matmul": lambda b, v: b("matmul", v[0], b.weights("w", SIZE, SIZE)),
    "attention": lambda b, v: attention(b, v[0], v[1]),
    "channel factor": lambda b, v: b("mul", v[0], channels(b)),
    "channel shift": lambda b, v: b("add", channels(b), v[0]),
    "row shift": lambda b, v: b("sub", b.weights("row", SIZE), v[0]),
    "number factor": lambda b, v: b("div", v[0], 1.5),
    "number shift": lambda b, v: b("sub", v[0], 0.25),
    "one": lambda b, v: b("mul", b("add", v[0], 0.0), 1.0),
    "add": lambda b, v: b("add", v[0], v[1]),
    "gate": lambda b, v: b("mul", v[0], b("sigmoid", v[1])),
    "squeeze and excite": lambda b, v: b(
        "mul", v[0], b("hard_sigmoid", b("reduce", v[0], ints(b, 2, 3), kind="mean", keep_dims=1), alpha=0.2, beta=0.5)
    ),
    "relu": lambda b, v: b("relu", v[0]),
    "relu6": lambda b, v: b("min", b("max", v[0], 0.0), 6.0),
    "leaky": lambda b, v: b("prelu", v[0], b.const(0.1)),
    "prelu": lambda b, v: b("prelu", v[0], channels(b)),
    "gelu": lambda b, v: gelu(b, v[0]),
    "hard swish": lambda b, v: hard_swish(b, v[0]),
    "tanh": lambda b, v: b("tanh", v[0]),
    "layer norm": lambda b, v: layer_norm(b, v[0]),
    "rms norm": lambda b, v: rms_norm(b, v[0]),
    "group norm": lambda b, v: group_norm(b, v[0]),
    "average": lambda b, v: pool(b, "average_pool", padded(b, v[0]), 0, count_include_pad=0),
    "largest": lambda b, v: pool(b, "max_pool", padded(b, b("relu", v[0])), 0),
    "largest padded": lambda b, v: pool(b, "max_pool", padded(b, v[0], -math.inf), 0),
    "turned": lambda b, v: turned(b, v[0]),
    "flattened": lambda b, v: flattened(b, v[0]),
    "identity": lambda b, v: b("identity", b("concat", v[0], axis=1)),
    "embedding": lambda b, v: embedding(b, b("round", v[0])),
    "branch": lambda b, v: branching(b, v[0], v[1], is_positive(b, v[1])),
    "known branch": lambda b, v: branching(b, v[0], v[1], b.const(True, np.bool_)),
    "other known branch": lambda b, v: branching(b, v[0], v[1], b.const(False, np.bool_)),
    "loop": lambda b, v: looping(b, v[0], v[1]),
    "constant": lambda b, v: b("expand", b("exp", channels(b)), b("shape", v[0], start=0)),
}


PRODUCTS: Final = ("conv", "conv twin", "conv twin", "depthwise", "matmul", "up")


@st.composite
def models(draw: st.DrawFn) -> Model:
    """Up to ten steps on two inputs, every other one a product; any value may be read often, and any may be an output."""
    b = Builder(draw(st.integers(0, 1000)))
    values = [b.input(name, "N", CHANNELS, SIZE, SIZE) for name in ("x", "z")]
    b.twin = b.weights("twin", CHANNELS, CHANNELS, 3, 3)
    others = [*sorted(set(STEPS) - set(PRODUCTS)), *["channel factor", "add", "relu"] * 4]
    for _ in range(draw(st.integers(1, 5))):
        for names in (PRODUCTS, others):
            first = draw(st.sampled_from(values[-1:] * 3 + values[-4:]))
            second = draw(st.sampled_from(values[-5:]))
            values.append(STEPS[draw(st.sampled_from(names))](b, [first, second]))
    marked = draw(st.lists(st.sampled_from(values[2:]), max_size=3))
    return b.model(*dict.fromkeys([values[-1], *marked]))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(models(), st.integers(0, 3))
def test_results_do_not_change(model: Model, batch: int) -> None:
    feeds = feeds_for(model, sizes={"N": batch})
    wanted = run(model, feeds)
    for each in PASSES:
        changed = copy.deepcopy(model)
        if each.function(changed):
            infer_shapes(changed)
            assert_same_results(wanted, run(changed, feeds))
    run_passes(model)
    assert_same_results(wanted, run(model, feeds))
    assert not any(result.changes for result in run_passes(model))


def test_every_pass_finds_work_among_the_steps() -> None:
    """The property would say little about a pass that no step concerns."""
    working: set[str] = set()
    for step in STEPS.values():
        b = Builder()
        x, z = b.input("x", "N", CHANNELS, SIZE, SIZE), b.input("z", "N", CHANNELS, SIZE, SIZE)
        b.twin = b.weights("twin", CHANNELS, CHANNELS, 3, 3)
        b("neg", x, name="dead")
        shared, alone = step(b, [conv(b, x), z]), step(b, [z, x])
        results = run_passes(b.model(b("relu", conv(b, b("add", shared, shared))), conv(b, alone)))
        working |= {result.name for result in results if result.changes}
    assert working == {each.name for each in PASSES}
