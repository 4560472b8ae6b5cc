"""Normalisations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from ..ir import Value
from .node import OnnxNode
from .registry import lowers

Doubles = npt.NDArray[np.float64]


@lowers("BatchNormalization", since=7)
def batch_normalization(node: OnnxNode) -> Value | list[Value | None]:
    if node.has("spatial") and node.integer("spatial") != 1:
        raise node.unsupported("batch normalisation with spatial=0")
    more = any(node.wants(index) for index in range(1, node.output_count))
    if node.has("training_mode"):
        if node.integer("training_mode") != 0:
            return _in_training(node)[:3]
        if more:
            raise node.invalid("more than one result is used, but training_mode is 0")
    elif more:  # which is how training was told apart before opset 14
        return _in_training(node)
    x = node.operand(0)
    parameters = [node.operand(index) for index in range(1, 5)]
    dims = [-1] + [1] * (node.rank(x) - 2)
    constants = [value.constant for value in parameters]
    known = [np.asarray(array, np.float64) for array in constants if array is not None]
    if len(known) == 4:
        scale, shift = _as_factor(known, node.number("epsilon"))
        dtype = node.dtype(x)
        factor, offset = node.constant(scale.reshape(dims), dtype), node.constant(shift.reshape(dims), dtype)
    else:
        factor, offset = _computed_factor(node, parameters, dims)
    return node.emit("add", [node.emit("mul", [x, factor]), offset])


def _in_training(node: OnnxNode) -> list[Value | None]:
    """The result, the running mean and variance, and those of the batch, by which it is normalised."""
    x, scale, bias, mean, variance = node.operands
    dtype, rank = node.dtype(x), node.rank(x)
    wide = x if dtype == TensorProto.DOUBLE else node.emit("cast", [x], to=int(TensorProto.FLOAT), saturate=1)
    axes, rows = node.int64s([0, *range(2, rank)]), node.int64s([-1, *[1] * (rank - 2)])

    def average(value: Value) -> Value:
        return node.emit("reduce", [value, axes], kind="mean", keep_dims=1, noop_with_empty_axes=0)

    def running(old: Value, new: Value) -> Value:
        momentum, rest = (node.constant(each, node.dtype(old)) for each in (node.number("momentum"), 1 - node.number("momentum")))
        return node.emit("add", [node.emit("mul", [old, momentum]), node.emit("mul", [new, rest])])

    batch_mean = average(wide)
    centred = node.emit("sub", [wide, batch_mean])
    batch_variance = average(node.emit("mul", [centred, centred]))
    shifted = node.emit("add", [batch_variance, node.constant(node.number("epsilon"), node.dtype(wide))])
    y = node.emit("cast", [node.emit("div", [centred, node.emit("sqrt", [shifted])])], to=dtype, saturate=1)
    y = node.emit("mul", [y, node.emit("reshape", [scale, rows], allow_zero=0)])
    y = node.emit("add", [y, node.emit("reshape", [bias, rows], allow_zero=0)])
    flat = [node.emit("reshape", [each, node.int64s([-1])], allow_zero=0) for each in (batch_mean, batch_variance)]
    batch = [node.emit("cast", [each], to=node.dtype(mean), saturate=1) for each in flat]
    return [y, running(mean, batch[0]), running(variance, batch[1]), *batch]


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


@lowers("InstanceNormalization", since=6)
def instance_normalization(node: OnnxNode) -> Value:
    return node.emit("instance_norm", [node.operand(0), node.operand(1), node.operand(2)], epsilon=node.number("epsilon"))


@lowers("LRN")
def local_response_normalization(node: OnnxNode) -> Value:
    numbers = {name: node.number(name) for name in ("alpha", "beta", "bias")}
    return node.emit("lrn", [node.operand(0)], size=node.integer("size"), **numbers)


@lowers("MeanVarianceNormalization")
def mean_variance_normalization(node: OnnxNode) -> Value:
    """(x − mean) / (standard deviation + 1e-9)."""
    x = node.operand(0)
    dtype = node.dtype(x)
    axes = node.int64s(node.integers("axes") or [])

    def mean(value: Value) -> Value:
        return node.emit("reduce", [value, axes], kind="mean", keep_dims=1, noop_with_empty_axes=0)

    centred = node.emit("sub", [x, mean(x)])
    deviation = node.emit("sqrt", [mean(node.emit("mul", [centred, centred]))])
    return node.emit("div", [centred, node.emit("add", [deviation, node.constant(1e-9, dtype)])])


@lowers("LpNormalization")
def lp_normalization(node: OnnxNode) -> Value:
    x = node.operand(0)
    axes = node.int64s([node.integer("axis")])
    length = node.emit("reduce", [x, axes], kind=f"l{node.integer('p')}", keep_dims=1, noop_with_empty_axes=0)
    # Where all elements are 0, so is the result.
    zero, one = node.constant(0, node.dtype(x)), node.constant(1, node.dtype(x))
    return node.emit("div", [x, node.emit("where", [node.emit("equal", [length, zero]), one, length])])
