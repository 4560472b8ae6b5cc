"""simplify_loop: constants, values that are carried for nothing, and results that nobody reads."""

from __future__ import annotations

import numpy as np
from pass_graphs import Builder, assert_same_results, run, sketch

from jitney.converter.infer import infer_shapes
from jitney.converter.ir import Graph, Model, Node, Value
from jitney.converter.passes import run_passes
from jitney.converter.passes.simplify_loop import simplify_loop

SHAPE = [2]


def body() -> Graph:
    """a → a·k + c, b → b, d → −d (which nobody reads) and u (not read at all) → a; gathers a, d, a."""
    number, go = Value("i", 7, []), Value("go", 9, [])
    a, b, d, u, k, c = (Value(name, 1, [2]) for name in ("a", "b", "d", "u", "k", "c"))
    m, s, n, t = (Value(name, 1, [2]) for name in ("m", "s", "n", "t"))
    nodes = [Node("mul", [a, k], [m]), Node("add", [m, c], [s]), Node("neg", [d], [n]), Node("add", [s, b], [t])]
    return Graph("body", [number, go, a, b, d, u, k, c], [go, t, b, n, a, s, n, b], nodes)


def graph(*wanted: int) -> Model:
    b = Builder()
    n, x = b.input("n", dtype=7), b.input("x", 2)
    k, c = b.const([2.0, 3.0], name="k"), b.node("neg", x, name="c").output
    y = b.const([4.0, 5.0], name="y")
    loop = b.node("loop", n, None, x, y, x, c, k, c, name="l", results=7, body=body(), carried=4, joined=[0, 1, 0])
    return b.model(*(loop.outputs[index] for index in wanted))  # type: ignore[arg-type]


def check(wanted: tuple[int, ...], lines: list[str]) -> None:
    model, reference = graph(*wanted), graph(*wanted)
    assert simplify_loop(model) > 0
    infer_shapes(model)
    assert sketch(model)[-1:] == lines
    assert simplify_loop(model) == 0
    run_passes(model)
    for trips in (3, 1):
        feeds = {"n": np.array(trips), "x": np.array([0.5, -1], np.float32)}
        assert_same_results(run(reference, feeds), run(model, feeds))


def test_unread_results_go() -> None:
    check((0,), ["l = loop(n, _, x, c) body=graph carried=1"])


def test_what_is_carried_unchanged_is_captured_and_returned_as_it_came() -> None:
    check((1, 0, 4), ["l, l_4 = loop(n, _, x, c) body=graph carried=1"])


def test_gathered_results_keep_their_flags() -> None:
    check((5, 3), ["l, l_2, l_3, l_5 = loop(n, _, x, x, c, c) body=graph carried=3 joined=[1]"])


def test_a_loop_that_returns_only_what_it_got_vanishes() -> None:
    model = graph(1)
    simplify_loop(model)
    assert not model.graph.nodes
    assert model.graph.outputs[0].is_constant
