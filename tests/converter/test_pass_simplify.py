"""drop_identity, simplify_reshape and simplify_transpose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pass_graphs import Builder, check, check_unchanged

from jitney.converter.ir import Value
from jitney.converter.passes.drop_identity import drop_identity
from jitney.converter.passes.simplify_reshape import simplify_reshape
from jitney.converter.passes.simplify_transpose import simplify_transpose


def ints(b: Builder, *numbers: int) -> Value:
    return b.const(numbers, np.int64, "_".join(map(str, numbers)))


KINDS = [
    *("identity", "cast", "slice", "concat", "split", "expand", "tile", "pad", "clip"),
    *("mul", "mul_left", "div", "add", "sub", "pow"),
]


def unchanged(b: Builder, x: Value, kind: str) -> Value:
    """A node that returns x, which is [N, 3, 4]."""
    end = 2**63 - 1
    table: dict[str, tuple[str, tuple[Value | float | None, ...], dict[str, Any]]] = {
        "identity": ("identity", (x,), {}),
        "cast": ("cast", (x,), {"to": 1, "saturate": 1}),
        "slice": ("slice", (x, ints(b, 0), ints(b, end), ints(b, 1)), {}),
        "concat": ("concat", (x,), {"axis": 1}),
        "split": ("split", (x,), {"axis": 1}),
        "expand": ("expand", (x, ints(b, 3, 4)), {}),
        "tile": ("tile", (x, ints(b, 1, 1, 1)), {}),
        "pad": ("pad", (x, ints(b, *[0] * 6)), {"mode": "reflect"}),
        "clip": ("clip", (x,), {}),
        "mul": ("mul", (x, 1.0), {}),
        "mul_left": ("mul", (b.const(np.ones((3, 4))), x), {}),
        "div": ("div", (x, b.const([[1.0]])), {}),
        "add": ("add", (0.0, x), {}),
        "sub": ("sub", (x, 0.0), {}),
        "pow": ("pow", (x, 1.0), {}),
    }
    op, operands, attributes = table[kind]
    return b(op, *operands, **attributes)


@pytest.mark.parametrize("kind", KINDS)
def test_what_changes_nothing_goes(kind: str) -> None:
    b = Builder()
    x = b.input("x", "N", 3, 4)
    check(drop_identity, b.model(b("neg", unchanged(b, x, kind), name="y")), ["y = neg(x)"])


def test_an_output_may_become_an_input() -> None:
    b = Builder()
    x = b.input("x", 2)
    model = b.model(b("identity", x, name="y"))
    check(drop_identity, model, [])
    assert model.graph.outputs == [x]
    assert model.output_names == ["y"]


def test_what_changes_something_stays() -> None:
    b = Builder()
    x = b.input("x", "N", 1, 4)
    parts = [
        b("slice", x, ints(b, -1), ints(b, -(2**63)), ints(b, 2), ints(b, -1)),
        b("slice", x, ints(b, 1), ints(b, 9), ints(b, 0)),
        b("expand", x, ints(b, 3, 4)),
        b("mul", x, b.const(np.ones((2, 1, 1)))),
        b("add", b.const(np.zeros((1, 1, 1, 1))), x),
        b("sub", 0.0, x),
        b("div", 1.0, x),
        b("pow", 1.0, x),
        b("clip", x, 0.0),
        b("cast", x, to=11, saturate=1),
    ]
    check_unchanged(drop_identity, b.model(*parts))


def test_reshapes_in_a_row_are_one() -> None:
    b = Builder()
    x = b.input("x", 2, 3, 4)
    first = b("flatten", b("unsqueeze", x, ints(b, 0)), axis=2)
    check(
        simplify_reshape,
        b.model(b("reshape", first, ints(b, 4, 6), name="y", allow_zero=0)),
        ["y = reshape(x, y.shape) allow_zero=0"],
    )


def test_reshapes_that_cancel_go() -> None:
    b = Builder()
    x = b.input("x", "N", 3, 1)
    there = b("squeeze", x, ints(b, 2))
    check(simplify_reshape, b.model(b("exp", b("unsqueeze", there, ints(b, 2)), name="y")), ["y = exp(x)"])


def test_a_reshape_between_others_may_have_more_readers() -> None:
    b = Builder()
    x = b.input("x", 2, 6)
    middle = b("reshape", x, ints(b, 3, 4), name="middle", allow_zero=0)
    model = b.model(b("neg", middle, name="z"), b("reshape", middle, ints(b, 12), name="y", allow_zero=0))
    check(
        simplify_reshape, model, ["middle = reshape(x, 3_4) allow_zero=0", "z = neg(middle)", "y = reshape(x, 12) allow_zero=0"]
    )


def computed_shape(b: Builder, x: Value, *kept: int, rest: tuple[int, ...]) -> Value:
    sizes = b("shape", x, start=0)
    return b("concat", b("gather", sizes, ints(b, *kept), axis=0), ints(b, *rest), axis=0)


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_a_computed_shape_with_one_open_dim_becomes_constant(rows: int) -> None:
    b = Builder()
    x = b.input("x", "N", 3, 4)
    shape = computed_shape(b, x, 0, rest=(12,))
    model = b.model(b("reshape", x, shape, name="y", allow_zero=0))
    check(simplify_reshape, model, ["y = reshape(x, y.shape) allow_zero=0"], sizes={"N": rows})
    np.testing.assert_array_equal(model.graph.nodes[0].inputs[1].constant, [-1, 12])  # type: ignore[union-attr]


@pytest.mark.parametrize("rows", [0, 5])
def test_open_dims_that_stay_in_their_places_are_copied(rows: int) -> None:
    b = Builder()
    x = b.input("x", "N", "L", 12)
    shape = computed_shape(b, x, 0, 1, rest=(3, 4))
    model = b.model(b("reshape", x, shape, name="y", allow_zero=0))
    check(simplify_reshape, model, ["y = reshape(x, y.shape) allow_zero=0"], sizes={"N": rows, "L": 2})
    np.testing.assert_array_equal(model.graph.nodes[0].inputs[1].constant, [0, 0, 3, 4])  # type: ignore[union-attr]


def test_two_open_dims_in_new_places_stay_computed() -> None:
    b = Builder()
    x = b.input("x", "N", 12, "L")
    shape = b("concat", b("gather", b("shape", x, start=0), ints(b, 0, 2), axis=0), ints(b, 12), axis=0)
    check_unchanged(simplify_reshape, b.model(b("reshape", x, shape, name="y", allow_zero=0)))


def test_sizes_of_zero() -> None:
    b = Builder()
    x = b.input("x", 0, 3)
    first = b("reshape", x, ints(b, 3, 0, 5), allow_zero=1)
    check(
        simplify_reshape,
        b.model(b("reshape", first, ints(b, 0, 7), name="y", allow_zero=1)),
        ["y = reshape(x, y.shape) allow_zero=1"],
    )


def test_transposes_in_a_row_are_one() -> None:
    b = Builder()
    x = b.input("x", 2, 3, 4)
    first = b("transpose", x, name="first", perm=[2, 0, 1])
    second = b("transpose", first, name="y", perm=[0, 2, 1])
    check(simplify_transpose, b.model(second), ["y = transpose(x) perm=[2,1,0]"])


def test_transposes_that_cancel_go() -> None:
    b = Builder()
    x = b.input("x", "N", 3, 4, 5)
    there = b("transpose", x, name="there", perm=[0, 2, 3, 1])
    back = b("transpose", there, perm=[0, 3, 1, 2])
    model = b.model(b("neg", there, name="z"), b("neg", b("transpose", back, perm=[0, 1, 2, 3]), name="y"))
    check(simplify_transpose, model, ["there = transpose(x) perm=[0,2,3,1]", "z = neg(there)", "y = neg(x)"])
