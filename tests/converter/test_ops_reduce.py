"""Reductions and selection along axes in all their versions."""

from __future__ import annotations

import numpy as np
import pytest
from op_check import check, floats, int64s, over_versions, rng, versions

from jitney.converter.lower.reduce import KINDS


def _reduce_cases(by_attribute: bool) -> pytest.MarkDecorator:
    cases = []
    for op in sorted(KINDS):
        last = 12 if op == "ReduceSum" else 17
        cases += [(op, opset) for opset in versions(op) if (opset <= last) == by_attribute]
    return pytest.mark.parametrize(("op", "opset"), cases, ids=[f"{op}-{opset}" for op, opset in cases])


@_reduce_cases(by_attribute=True)
def test_reduce_with_attribute(op: str, opset: int) -> None:
    x = rng().uniform(0.5, 2, (2, 3, 4)).astype(np.float32)
    check(op, [x], opset=opset)
    check(op, [x], opset=opset, axes=[1])
    check(op, [x], opset=opset, axes=[0, 2], keepdims=0)
    if opset >= 11:
        check(op, [x], opset=opset, axes=[-1])


@_reduce_cases(by_attribute=False)
def test_reduce(op: str, opset: int) -> None:
    x = rng().uniform(0.5, 2, (2, 3, 4)).astype(np.float32)
    check(op, [x], opset=opset)
    check(op, [x], opset=opset, keepdims=0)
    check(op, [x, int64s(1)], opset=opset)
    check(op, [x, int64s(0, -1)], opset=opset, keepdims=0, constants=[1])
    check(op, [x, np.zeros(0, np.int64)], opset=opset, constants=[1])
    if op != "ReduceLogSumExp":
        check(op, [x, np.zeros(0, np.int64)], opset=opset, constants=[1], noop_with_empty_axes=1)


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean"])
def test_reduce_integers(op: str) -> None:
    check(op, [np.array([[1, -5, 3], [4, 5, 7]], np.int32), int64s(1)], opset=18, constants=[1])


def test_reduce_bools() -> None:
    for op in ("ReduceMax", "ReduceMin"):
        check(op, [np.array([[True, False], [False, False]]), int64s(1)], opset=20, constants=[1])


def test_reduce_of_nothing_is_the_neutral_element() -> None:
    check("ReduceSum", [np.zeros((2, 0, 3), np.float32), int64s(1)], opset=13, constants=[1])
    check("ReduceProd", [np.zeros((2, 0, 3), np.float32), int64s(1)], opset=18, constants=[1])


@over_versions("ArgMax", "ArgMin")
@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": 2, "keepdims": 0}])
def test_arg_reduce(op: str, opset: int, options: dict[str, int]) -> None:
    x = np.array([[[3, 1, 3], [2, 2, 1]], [[0, 0, 0], [5, 6, 6]]], np.float32)
    check(op, [x], opset=opset, **options)
    if opset >= 12:
        check(op, [x], opset=opset, select_last_index=1, **options)


@over_versions("CumSum")
@pytest.mark.parametrize("options", [{}, {"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1}])
def test_cumsum(op: str, opset: int, options: dict[str, int]) -> None:
    check(op, [floats(2, 5), np.array(1, np.int64)], opset=opset, **options)
    check(op, [np.arange(6, dtype=np.int64).reshape(2, 3), np.array(-2, np.int32)], opset=opset, **options)


@pytest.mark.parametrize("opset", [7, 9])
def test_top_k_with_attribute(opset: int) -> None:
    check("TopK", [floats(3, 6)], opset=opset, outputs=2, k=3)
    check("TopK", [floats(3, 6)], opset=opset, outputs=2, k=2, axis=0)


@over_versions("TopK", least=10)
def test_top_k(op: str, opset: int) -> None:
    check(op, [floats(3, 6), int64s(2)], opset=opset, outputs=2)
    check(op, [floats(3, 6), int64s(2)], opset=opset, outputs=2, axis=0, constants=[1])
    if opset >= 11:
        check(op, [floats(3, 6), int64s(3)], opset=opset, outputs=2, largest=0)
        check(op, [np.array([4, 4, 1, 9], np.int64), int64s(3)], opset=opset, outputs=2)


@over_versions("GlobalAveragePool", "GlobalMaxPool")
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, 4, 5), (1, 2, 3, 4, 5)])
def test_global_pool(op: str, opset: int, shape: tuple[int, ...]) -> None:
    check(op, [floats(*shape)], opset=opset)


@over_versions("GlobalLpPool")
@pytest.mark.parametrize("p", [1, 2, 3])
def test_global_lp_pool(op: str, opset: int, p: int) -> None:
    check(op, [floats(2, 3, 4, 5)], opset=opset, p=p)
