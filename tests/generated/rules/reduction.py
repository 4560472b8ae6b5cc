"""Reductions, cumulative ops and selection along axes."""

from __future__ import annotations

import math

from ..case import FLOATS
from ..draw import INTEGERS, WIDE, Draw
from .registry import rule

NUMBERS = WIDE - {"BOOL"}


@rule(
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
    "ReduceSumSquare",
)  # fmt: skip
def reduce(d: Draw) -> None:
    shape = d.shape()
    selects = d.op in ("ReduceMax", "ReduceMin")
    d.loose = not selects
    allowed = (
        WIDE if selects else NUMBERS if d.op not in ("ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceL2") else FLOATS
    )
    fill = d.edges() if selects else "positive" if d.op in ("ReduceLogSum", "ReduceProd") else d.pick(["normal", "non_finite"])
    dtype = d.operand(shape, fill, allowed=allowed)
    d.need(d.op != "ReduceProd" or dtype in FLOATS or math.prod(shape) <= 12)  # more would overflow
    d.maybe("keepdims", [0, 1])
    d.maybe("noop_with_empty_axes", [0, 1])
    if d.chance(0.8):
        axes = d.axes(len(shape))
        axes = axes if d.opset >= 11 else [axis % len(shape) for axis in axes]
        if not d.has("axes"):
            d.listed(axes)
        elif axes:
            d.attribute("axes", axes)


@rule("ArgMax", "ArgMin")
def arg_reduce(d: Draw) -> None:
    shape = d.shape(1)
    axis = d.axis(len(shape)) if d.opset >= 11 else d.integer(0, len(shape) - 1)
    d.need(shape[axis] > 0)
    d.operand(shape, "ties", allowed=NUMBERS)
    d.attribute("axis", axis)
    d.maybe("keepdims", [0, 1])
    d.maybe("select_last_index", [0, 1])


@rule("CumSum", "CumProd")
def cumulative(d: Draw) -> None:
    shape = d.shape(1)
    d.loose = True
    dtype = d.operand(shape, "normal" if d.op == "CumSum" else "positive", allowed=NUMBERS)
    d.need(d.op != "CumProd" or dtype in FLOATS or math.prod(shape) <= 12)  # more would overflow
    d.listed([d.axis(len(shape))], dtype=d.index_dtype(), shape=[])
    d.maybe("exclusive", [0, 1])
    d.maybe("reverse", [0, 1])


@rule("TopK")
def top_k(d: Draw) -> None:
    shape = d.shape(1)
    axis = d.axis(len(shape)) if d.since >= 11 else d.integer(0, len(shape) - 1)
    d.operand(shape, d.pick(["normal", "ties"]), allowed=NUMBERS)
    d.attribute("axis", axis)
    k = d.integer(min(1, shape[axis]), shape[axis]) if d.chance(0.9) else 0
    if d.has("k"):
        d.need(k > 0)
        d.attribute("k", k)
    else:
        d.listed([k])
    d.maybe("largest", [0, 1])
    d.results = [True, True]


@rule("Softmax", "LogSoftmax", "Hardmax")
def softmax(d: Draw) -> None:
    shape = d.shape(1)
    axis = d.axis(len(shape)) if d.opset >= 11 else d.integer(0, len(shape) - 1)
    d.need(0 not in shape or d.op != "Hardmax")
    d.loose = d.op == "LogSoftmax"
    d.operand(shape, "ties" if d.op == "Hardmax" else "normal")
    if d.chance(0.8) or len(shape) < 2:
        d.attribute("axis", axis)


@rule("LpNormalization")
def lp_normalization(d: Draw) -> None:
    shape = d.shape(1)
    d.loose = True
    d.operand(shape, "normal")
    d.maybe("axis", range(-len(shape), len(shape)))
    d.maybe("p", [1, 2])


@rule("MeanVarianceNormalization")
def mean_variance(d: Draw) -> None:
    shape = d.shape(4, 4)
    d.loose = True
    d.need(0 not in shape)
    d.operand(shape, "normal")
    d.maybe("axes", [[0, 2, 3], [2, 3], [1, 2, 3]])


@rule("Det")
def determinant(d: Draw) -> None:
    size = d.integer(1, 4)
    d.loose = True
    d.operand([*d.any_shape(0, 2), size, size])


@rule("Einsum")
def einsum(d: Draw) -> None:
    letters = {letter: d.size() for letter in "abcdef"}
    d.loose = True
    terms = []
    for _ in range(d.integer(1, 3)):
        term = "".join(d.sample("abcde", d.integer(1, 3)))
        if d.chance(0.15):
            term += term[0]
        terms.append(term)
    used = sorted(set("".join(terms)))
    result = "".join(d.sample(used, d.integer(0, len(used))))
    batch = [d.size() for _ in range(d.integer(0, 2))] if d.chance(0.3) else None
    allowed = {"FLOAT", "DOUBLE", "INT32", "INT64"} & (INTEGERS | FLOATS)
    for term in terms:
        d.operand([*(batch or []), *(letters[letter] for letter in term)], allowed=allowed)
    dots = "..." if batch is not None else ""
    equation = ",".join(dots + term for term in terms)
    if d.chance(0.85):
        equation += f"->{dots}{result}"
    d.attribute("equation", equation.replace(",", ", ") if d.chance(0.2) else equation)
