"""eliminate_dead and eliminate_common."""

from __future__ import annotations

import numpy as np
from pass_graphs import Builder, check, check_unchanged

from jitney.converter.ir import Graph, Node, Value
from jitney.converter.passes.eliminate_common import eliminate_common
from jitney.converter.passes.eliminate_dead import eliminate_dead


def test_dead_chain_goes() -> None:
    b = Builder()
    x = b.input("x", 2)
    b("exp", b("neg", x))
    check(eliminate_dead, b.model(b("abs", x, name="y")), ["y = abs(x)"])


def test_results_that_nobody_reads_are_left_out() -> None:
    b = Builder()
    x = b.input("x", 1, 1, 4, 4)
    pool = b.node("max_pool", x, name="pool", results=2, kernel=[2, 2], strides=[2, 2], pads=[0] * 4, dilations=[1, 1])
    halves = b.node("split", x, name="half", results=2, axis=3)
    unread_first = halves.outputs[1]
    assert unread_first is not None
    model = b.model(pool.output, b("neg", unread_first, name="y"))
    check(
        eliminate_dead,
        model,
        [
            "pool, _ = max_pool(x) dilations=[1,1] kernel=[2,2] pads=[0,0,0,0] strides=[2,2]",
            "half, half_1 = split(x) axis=3",
            "y = neg(half_1)",
        ],
    )


def test_equal_nodes_and_constants_become_one() -> None:
    b = Builder()
    x = b.input("x", 2)
    first = b("exp", b("add", x, b.const([1.0, 2.0], name="c")), name="first")
    second = b("exp", b("add", x, b.const([1.0, 2.0], name="d")), name="second")
    check(
        eliminate_common,
        b.model(b("mul", first, second, name="y")),
        ["add0 = add(x, c)", "first = exp(add0)", "y = mul(first, first)"],
    )


def test_two_outputs_may_become_one_value() -> None:
    b = Builder()
    x = b.input("x", 2)
    check(eliminate_common, b.model(b("exp", x, name="y"), b("exp", x, name="z")), ["y = exp(x)"])


def test_what_differs_stays() -> None:
    b = Builder()
    x = b.input("x", 2, 2)
    parts = [
        b("softmax", x, axis=0),
        b("softmax", x, axis=1),
        b("add", x, b.const([1.0, 2.0])),
        b("add", x, b.const([[1.0], [2.0]])),
        b("cast", b("add", b("cast", x, to=7, saturate=1), b.const([1, 2], np.int64)), to=1, saturate=1),
    ]
    check_unchanged(eliminate_common, b.model(*parts))


def test_negative_zero_is_no_zero() -> None:
    b = Builder()
    x = b.input("x", 2)
    check_unchanged(eliminate_common, b.model(b("div", x, b.const([0.0, 1.0])), b("div", x, b.const([-0.0, 1.0]))))


def test_branches_are_rewritten_too() -> None:
    def branch(name: str) -> Graph:
        x = Value(f"{name}_x", 1, [2])
        dead, left, right, y = (Value(f"{name}_{stem}", 1, [2]) for stem in ("dead", "left", "right", "y"))
        nodes = [Node("exp", [x], [dead]), Node("neg", [x], [left]), Node("neg", [x], [right]), Node(name, [left, right], [y])]
        return Graph(name, [x], [y], nodes)

    b = Builder()
    x = b.input("x", 2)
    condition = b("greater", b("reduce", x, kind="sum", keep_dims=0, noop_with_empty_axes=0), 0.0)
    y = b("if", condition, x, name="y", then=branch("add"), **{"else": branch("mul")})
    model = b.model(y)
    assert eliminate_dead(model) == 2
    assert eliminate_common(model) == 2
    for _, graph in model.graph.nodes[-1].subgraphs():
        assert [node.op for node in graph.nodes] == ["neg", graph.name]
