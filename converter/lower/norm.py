"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from ..ir import Value
from .node import OnnxNode
from .registry import lowers
from .wide import in_float32

Doubles = npt.NDArray[np.float64]


@lowers("BatchNormalization")
def batch_normalization(node: OnnxNode) -> list[Value | None]:
    if _trains(node):
        return _batch_normalization_in_training(node)
    x = node.operand(0)
    parameters = [node.operand(index) for index in range(1, 5)]
    dims = _parameter_dims(node, x)
    constants = [value.constant for value in parameters]
    known = [np.asarray(array, np.float64) for array in constants if array is not None]
    if len(known) == 4:
        scale, shift = _as_factor(known, node.number("epsilon"))
        dtype = node.dtype(x)
        factor, offset = node.constant(scale.reshape(dims), dtype), node.constant(shift.reshape(dims), dtype)
    else:
        factor, offset = _computed_factor(node, parameters, dims)
    return [node.emit("add", [node.emit("mul", [x, factor]), offset])]


def _trains(node: OnnxNode) -> bool:
    """From opset 14 on an attribute says it; before, it showed in the number of results."""
    more = any(node.wants(index) for index in range(1, node.output_count))
    if node.has("training_mode"):
        if more and not node.integer("training_mode"):
            raise node.invalid("has more than one result, but training_mode is 0")
        return bool(node.integer("training_mode"))
    return more and not (node.has("is_test") and node.integer("is_test"))


def _spatial(node: OnnxNode) -> bool:
    return not node.has("spatial") or node.integer("spatial") != 0


def _parameter_dims(node: OnnxNode, x: Value) -> list[int]:
    """The shape in which parameters broadcast to x: one number per channel or, if not spatial, per element of a sample."""
    if _spatial(node):
        return [-1] + [1] * (node.rank(x) - 2)
    shape = node.shape(node.operand(1))
    if shape is None or not all(isinstance(dim, int) for dim in shape):
        raise node.unsupported("batch normalisation with spatial=0 and parameters of open sizes")
    return [dim for dim in shape if isinstance(dim, int)]


def _batch_normalization_in_training(node: OnnxNode) -> list[Value | None]:
    """By the batch's own moments. The results after the first: the moving moments, then (up to opset 9) the batch's own."""
    x = node.operand(0)
    dtype = node.dtype(x)
    wide = dtype if dtype in (TensorProto.FLOAT, TensorProto.DOUBLE) else int(TensorProto.FLOAT)
    axes = node.int64s([axis for axis in range(node.rank(x)) if axis != 1] if _spatial(node) else [0])
    dims = node.int64s(_parameter_dims(node, x))

    def cast(value: Value, to: int) -> Value:
        return value if node.dtype(value) == to else node.emit("cast", [value], to=to, saturate=1)

    def mean_of(value: Value) -> Value:
        return node.emit("reduce", [value, axes], kind="mean", keep_dims=1, noop_with_empty_axes=0)

    def spread(value: Value) -> Value:
        return node.emit("reshape", [cast(value, wide), dims], allow_zero=0)

    wide_x = cast(x, wide)
    mean = mean_of(wide_x)
    centred = node.emit("sub", [wide_x, mean])
    variance = mean_of(node.emit("mul", [centred, centred]))
    deviation = node.emit("sqrt", [node.emit("add", [variance, node.constant(node.number("epsilon"), wide)])])
    scaled = node.emit("mul", [node.emit("div", [centred, deviation]), spread(node.operand(1))])
    results: list[Value | None] = [cast(node.emit("add", [scaled, spread(node.operand(2))]), dtype)]
    momentum = node.constant(node.number("momentum"), wide)
    rest = node.constant(1 - node.number("momentum"), wide)
    for index in range(1, node.output_count):
        before = node.operand(3 if index % 2 else 4)
        own = node.emit("reshape", [mean if index % 2 else variance, _shape(node, before)], allow_zero=1)
        if index < 3:
            kept = node.emit("mul", [cast(before, wide), momentum])
            own = node.emit("add", [kept, node.emit("mul", [own, rest])])
        results.append(cast(own, node.dtype(before)))
    return results


def _shape(node: OnnxNode, value: Value) -> Value:
    return node.emit("shape", [value], start=0)


def _as_factor(parameters: list[Doubles], epsilon: float) -> tuple[Doubles, Doubles]:
    """scale·(x − mean)/√(variance + ε) + bias as x·factor + offset."""
    scale, bias, mean, variance = parameters
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + epsilon)
        return factor, bias - mean * factor


def _computed_factor(node: OnnxNode, parameters: list[Value], dims: list[int]) -> tuple[Value, Value]:
    scale, bias, mean, variance = parameters
    shifted = node.emit("add", [variance, node.constant(node.number("epsilon"), node.dtype(variance))])
    factor = node.emit("div", [scale, node.emit("sqrt", [shifted])])
    offset = node.emit("sub", [bias, node.emit("mul", [mean, factor])])
    shape = node.int64s(dims)
    return node.emit("reshape", [factor, shape], allow_zero=0), node.emit("reshape", [offset, shape], allow_zero=0)


@lowers("LayerNormalization")
def layer_normalization(node: OnnxNode) -> list[Value | None]:
    operands = [node.operand(0), node.operand(1), node.input(2)]
    wanted = [True, node.wants(1), node.wants(2)]
    return node.emit_results("layer_norm", operands, wanted, axis=node.integer("axis"), epsilon=node.number("epsilon"))


@lowers("InstanceNormalization")
def instance_normalization(node: OnnxNode) -> Value:
    return node.emit("instance_norm", [node.operand(0), node.operand(1), node.operand(2)], epsilon=node.number("epsilon"))


@lowers("GroupNormalization", since=21)
def group_normalization(node: OnnxNode) -> Value:
    groups = node.integer("num_groups")
    if groups < 1:
        raise node.invalid(f"num_groups is {groups}; it must be at least 1")
    operands = [node.operand(0), node.operand(1), node.operand(2)]
    return node.emit("instance_norm", operands, epsilon=node.number("epsilon"), groups=groups)


@lowers("LRN")
def local_response_normalization(node: OnnxNode) -> Value:
    numbers = {name: node.number(name) for name in ("alpha", "beta", "bias")}
    return node.emit("lrn", [node.operand(0)], size=node.integer("size"), **numbers)


@lowers("MeanVarianceNormalization")
def mean_variance_normalization(node: OnnxNode) -> Value:
    """(x − mean) / (standard deviation + 1e-9)."""
    axes = node.int64s(node.integers("axes") or [])

    def mean(value: Value) -> Value:
        return node.emit("reduce", [value, axes], kind="mean", keep_dims=1, noop_with_empty_axes=0)

    def compute(operands: Sequence[Value]) -> Value:
        centred = node.emit("sub", [operands[0], mean(operands[0])])
        deviation = node.emit("sqrt", [mean(node.emit("mul", [centred, centred]))])
        return node.emit("div", [centred, node.emit("add", [deviation, node.constant(1e-9, node.dtype(centred))])])

    return in_float32(node, [node.operand(0)], compute)


@lowers("LpNormalization")
def lp_normalization(node: OnnxNode) -> Value:
    x = node.operand(0)
    axes = node.int64s([node.integer("axis")])
    length = node.emit("reduce", [x, axes], kind=f"l{node.integer('p')}", keep_dims=1, noop_with_empty_axes=0)
    # Where all elements are 0, so is the result.
    zero, one = node.constant(0, node.dtype(x)), node.constant(1, node.dtype(x))
    return node.emit("div", [x, node.emit("where", [node.emit("equal", [length, zero]), one, length])])
