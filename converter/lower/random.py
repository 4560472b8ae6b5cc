"""Ops that draw random numbers."""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto

from ..ir import Attribute, Value
from .elementwise import cast_to
from .node import OnnxNode
from .registry import lowers

_DOUBLE = int(TensorProto.DOUBLE)
_INT64 = int(TensorProto.INT64)
_BOOL = int(TensorProto.BOOL)


@lowers("RandomUniform", "RandomNormal")
def random(node: OnnxNode) -> Value:
    shape = node.int64s(node.integers("shape") or [])
    return _draw(node, shape, node.integer("dtype"))


@lowers("RandomUniformLike", "RandomNormalLike")
def random_like(node: OnnxNode) -> Value:
    x = node.operand(0)
    return _draw(node, _shape(node, x), node.integer("dtype") if node.has("dtype") else node.dtype(x))


def _draw(node: OnnxNode, shape: Value, dtype: int) -> Value:
    normal = node.op.startswith("RandomNormal")
    first, second = ("mean", "scale") if normal else ("low", "high")
    return _emit(node, shape, dtype, "normal" if normal else "uniform", node.number(first), node.number(second))


def _uniform(node: OnnxNode, shape: Value) -> Value:
    """Numbers in [0, 1), fine enough that none rounds to 1."""
    return _emit(node, shape, _DOUBLE, "uniform", 0.0, 1.0)


def _emit(node: OnnxNode, shape: Value, dtype: int, distribution: str, a: float, b: float) -> Value:
    attributes: dict[str, Attribute] = {"distribution": distribution, "a": a, "b": b, "to": dtype}
    if node.has("seed"):
        seed = node.number("seed")
        if not math.isfinite(seed):
            raise node.invalid(f"the seed is {seed}")
        attributes["seed"] = int(seed) & 0xFFFFFFFF
    return node.emit("random", [shape], **attributes)


def _shape(node: OnnxNode, x: Value) -> Value:
    return node.emit("shape", [x], start=0)


@lowers("Bernoulli")
def bernoulli(node: OnnxNode) -> Value:
    x = node.operand(0)
    drawn = node.emit("less", [_uniform(node, _shape(node, x)), node.emit("cast", [x], to=_DOUBLE, saturate=1)])
    return cast_to(node, drawn, node.integer("dtype") if node.has("dtype") else node.dtype(x))


@lowers("Multinomial")
def multinomial(node: OnnxNode) -> Value:
    """Each sample is the first class whose cumulated probability lies above a uniform number."""
    x = node.emit("cast", [node.operand(0)], to=_DOUBLE, saturate=1)
    cumulated = node.emit("cumsum", [node.emit("softmax", [x], axis=1), node.int64s(1)], exclusive=0, reverse=0)
    batch = node.emit("shape", [x], start=0, end=1)
    numbers = _uniform(node, node.emit("concat", [batch, node.int64s([node.integer("sample_size")])], axis=0))
    below = node.emit(
        "less_equal",
        [node.emit("unsqueeze", [cumulated, node.int64s([1])]), node.emit("unsqueeze", [numbers, node.int64s([2])])],
    )
    count = node.emit(
        "reduce",
        [node.emit("cast", [below], to=_INT64, saturate=1), node.int64s([2])],
        kind="sum",
        keep_dims=0,
        noop_with_empty_axes=0,
    )
    # Rounding may leave the last sum a little below 1.
    last = node.emit("sub", [node.emit("shape", [x], start=1, end=2), node.int64s([1])])
    return node.emit("cast", [node.emit("min", [count, last])], to=node.integer("dtype"), saturate=1)


@lowers("Dropout")
def dropout(node: OnnxNode) -> list[Value | None]:
    """In training, an element stays with probability 1 − ratio, and is then divided by that."""
    x = node.operand(0)
    ratio, training = _ratio(node), node.input(2)
    # Before opset 12 the node's own results and attributes told whether it trains.
    trains = node.wants(1) and node.has("is_test") and not node.integer("is_test")
    decided = bool(training.constant.any()) if training is not None and training.constant is not None else trains
    if (training is None or training.constant is not None) and (not decided or _is_zero(ratio)):
        return [x, _all_kept(node, x)] if node.wants(1) else [x]
    ratio = node.emit("cast", [ratio], to=_DOUBLE, saturate=1)
    if training is not None and training.constant is None:
        ratio = node.emit("where", [training, ratio, node.constant(0, _DOUBLE)])
    dropped = node.emit("less", [_uniform(node, _shape(node, x)), ratio])
    dtype = node.dtype(x)
    scale = node.emit("reciprocal", [node.emit("sub", [node.constant(1, _DOUBLE), ratio])])
    scaled = node.emit("mul", [x, node.emit("cast", [scale], to=dtype, saturate=1)])
    y = node.emit("where", [dropped, node.constant(0, dtype), scaled])
    return [y, cast_to(node, node.emit("not", [dropped]), _mask_dtype(node, x))] if node.wants(1) else [y]


def _ratio(node: OnnxNode) -> Value:
    given = node.input(1)
    if given is not None:
        return given
    return node.constant(node.number("ratio") if node.has("ratio") else 0.5, _DOUBLE)


def _is_zero(value: Value) -> bool:
    return value.constant is not None and not np.asarray(value.constant, np.float64).any()


def _mask_dtype(node: OnnxNode, x: Value) -> int:
    """Before opset 10 the mask had the type of x."""
    return _BOOL if node.since >= 10 else node.dtype(x)


def _all_kept(node: OnnxNode, x: Value) -> Value:
    return node.emit("constant_of_shape", [_shape(node, x), node.constant([1], _mask_dtype(node, x))])
