"""Comparisons, logic, choice, casts and integer arithmetic: ops whose operands are not all float32."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
from onnx import helper

from single_ops.case import Case, Drawn, floats, integers, node, number, size_name, sizes, truths

_IMAGE = (1, 64, 56, 56)
_SIZE = size_name(_IMAGE[1:])


def _drawn(dtype: npt.DTypeLike, *, positive: bool = False) -> Drawn:
    return Drawn(_IMAGE, dtype, positive=positive)


def _of_one(op: str, dtype: npt.DTypeLike) -> Case:
    return Case(f"{op.lower()} {np.dtype(dtype)} {_SIZE}", [node(op, "x")], {"x": _drawn(dtype)})


def _of_two(op: str, dtype: npt.DTypeLike) -> Case:
    name = f"{op.lower()} {np.dtype(dtype)} {_SIZE}"
    return Case(name, [node(op, "x, z")], {"x": _drawn(dtype), "z": _drawn(dtype)})


def _with_number(op: str) -> Case:
    name = f"{op.lower()} int64 {_SIZE} with one number"
    return Case(name, [node(op, "x, z")], {"x": _drawn(np.int64)}, {"z": np.array(7, np.int64)})


def _cast(source: npt.DTypeLike, target: npt.DTypeLike) -> Case:
    """From floats to integers only what they can hold: the rest is undefined."""
    name = f"cast {np.dtype(source)} to {np.dtype(target)} {_SIZE}"
    to = helper.np_dtype_to_tensor_dtype(np.dtype(target))
    return Case(name, [node("Cast", "x", to=to)], {"x": _drawn(source, positive=np.dtype(target) == np.uint8)})


_COMPARISONS = ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
_ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min")
_SOURCES = (np.float32, np.int64, np.int32, np.bool_, np.uint8, np.int8)
_TARGETS = _SOURCES[:-1]

CASES = [
    *(_of_two(op, dtype) for op in ("Equal", "Less") for dtype in (np.float32, np.int64, np.int32)),
    *map(_with_number, (*_COMPARISONS, "Mul")),
    *(_of_two(op, np.bool_) for op in ("And", "Or", "Xor")),
    _of_one("Not", np.bool_),
    *(_of_two(op, dtype) for op in _ARITHMETIC for dtype in (np.int64, np.int32)),
    *(_of_one(op, dtype) for op in ("Abs", "Neg") for dtype in (np.int64, np.int32)),
    _of_two("BitwiseAnd", np.int32),
    *(_cast(source, target) for source, target in product(_SOURCES, _TARGETS) if source != target),
    _cast(np.float16, np.float32),
    _cast(np.float32, np.float16),
    Case("greater float32 64x56x56 than one number", [node("Greater", "x, z")], {"x": floats(*_IMAGE)}, {"z": number(0)}),
    Case("less of a column and a row 512x512", [node("Less", "x, z")], {"x": integers(512, 1), "z": integers(1, 512)}),
    Case("isinf 64x56x56", [node("IsInf", "x")], {"x": floats(*_IMAGE)}),
    Case(
        "clip int64 64x56x56",
        [node("Clip", "x, a, b")],
        {"x": integers(*_IMAGE)},
        {"a": np.array(3, np.int64), "b": np.array(100, np.int64)},
    ),
    Case(
        "where float32 64x56x56", [node("Where", "c, x, z")], {"c": truths(*_IMAGE), "x": floats(*_IMAGE), "z": floats(*_IMAGE)}
    ),
    Case(
        "where int64 64x56x56",
        [node("Where", "c, x, z")],
        {"c": truths(*_IMAGE), "x": integers(*_IMAGE), "z": integers(*_IMAGE)},
    ),
    Case(
        "where or one number 64x56x56",
        [node("Where", "c, x, z")],
        {"c": truths(*_IMAGE), "x": floats(*_IMAGE)},
        {"z": number(-1e9)},
    ),
    Case(
        "where attention's mask 12x128x128",
        [node("Where", "c, x, z")],
        {"c": truths(1, 1, 128, 128), "x": floats(1, 12, 128, 128)},
        {"z": number(-1e9)},
    ),
    Case(
        "where of a column, a row and all 512x512",
        [node("Where", "c, x, z")],
        {"c": truths(512, 1), "x": floats(1, 512), "z": floats(512, 512)},
    ),
    Case("nonzero 64x1000", [node("NonZero", "x")], {"x": truths(64, 1000)}),
    Case(
        "one_hot 1000 of 64",
        [node("OneHot", "x, depth, values")],
        {"x": integers(1000)},
        {"depth": np.array(64, np.int64), "values": np.array([0, 1], np.float32)},
    ),
    Case(
        "expand int64 1x1x128 to 12x128x128",
        [node("Expand", "x, s")],
        {"x": integers(1, 1, 128)},
        {"s": sizes(12, 128, 128)},
    ),
    Case("expand bool 128 to 128x128", [node("Expand", "x, s")], {"x": truths(1, 1, 1, 128)}, {"s": sizes(1, 1, 128, 128)}),
    Case("sum of int64 64x56x56", [node("ReduceSum", "x", keepdims=0)], {"x": integers(*_IMAGE)}),
]
