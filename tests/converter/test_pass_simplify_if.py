"""simplify_if: known conditions, constants and operands that branches do not need."""

from __future__ import annotations

import numpy as np
import pytest
from pass_graphs import Builder, assert_same_results, feeds_for, run, sketch

from jitney.converter.infer import infer_shapes
from jitney.converter.ir import Graph, Node, Value
from jitney.converter.passes import run_passes
from jitney.converter.passes.simplify_if import simplify_if


def branch(op: str, unread: bool = True) -> Graph:
    """op(x, c) + x, where another input may not be read; inner names are those of the outer graph."""
    x, c = Value("x", 1, [2]), Value("c", 1, [2])
    middle, y = Value("middle", 1, [2]), Value("y", 1, [2])
    nodes = [Node(op, [x, c], [middle]), Node("add", [middle, x], [y])]
    return Graph(op, [x, c, Value("unread", 1, [3])] if unread else [x, c], [y], nodes)


def graph(condition: bool | None) -> Builder:
    b = Builder()
    x, flag = b.input("x", 2), b.input("flag", dtype=9)
    middle = b("neg", x, name="middle")
    decided = flag if condition is None else b.const(condition, np.bool_)
    constant = b.const([3.0, 4.0], name="c")
    b("if", decided, middle, constant, b.input("spare", 3), name="y", then=branch("mul"), **{"else": branch("sub")})
    return b


@pytest.mark.parametrize("condition", [True, False])
def test_the_branch_taken_replaces_its_node(condition: bool) -> None:
    b = graph(condition)
    model = b.model(b.graph.nodes[-1].output)
    feeds = {**feeds_for(model), "flag": np.array(True)}
    wanted = run(model, feeds)
    assert simplify_if(model) == 1
    op = "mul" if condition else "sub"
    assert sketch(model) == ["middle = neg(x)", f"middle.1 = {op}(middle, c)", "y.1 = add(middle.1, middle)"]
    infer_shapes(model)
    assert_same_results(wanted, run(model, feeds))


def test_constants_move_in_and_unread_operands_go() -> None:
    b = graph(None)
    model = b.model(b.graph.nodes[-1].output)
    wanted = [run(model, {**feeds_for(model), "flag": np.array(flag)}) for flag in (True, False)]
    assert simplify_if(model) == 2
    assert sketch(model) == ["middle = neg(x)", "y = if(flag, middle) else=graph then=graph"]
    for _, inner in model.graph.nodes[-1].subgraphs():
        assert [value.name for value in inner.inputs] == ["x"]
        assert inner.nodes[0].inputs[1] is not None
        assert inner.nodes[0].inputs[1].is_constant
    infer_shapes(model)
    assert simplify_if(model) == 0
    for flag, result in zip((True, False), wanted, strict=True):
        assert_same_results(result, run(model, {**feeds_for(model), "flag": np.array(flag)}))


def test_a_branch_that_returns_a_constant_or_an_operand() -> None:
    def returning(index: int) -> Graph:
        x, c = Value("x", 1, [2]), Value("c", 1, [2])
        return Graph("g", [x, c], [[x, c][index]], [])

    b = Builder()
    x, flag = b.input("x", 2), b.input("flag", dtype=9)
    y = b("if", flag, x, b.const([3.0, 4.0]), name="y", then=returning(0), **{"else": returning(1)})
    model = b.model(y)
    run_passes(model)
    assert [node.op for node in model.graph.nodes] == ["if"]
    feeds = feeds_for(model)
    np.testing.assert_array_equal(run(model, {**feeds, "flag": np.array(True)})["y"], feeds["x"])
    np.testing.assert_array_equal(run(model, {**feeds, "flag": np.array(False)})["y"], [3.0, 4.0])
