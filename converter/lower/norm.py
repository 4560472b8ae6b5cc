"""Normalisations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..ir import Value
from .node import OnnxNode
from .registry import lowers

Doubles = npt.NDArray[np.float64]


@lowers("BatchNormalization", since=7)
def batch_normalization(node: OnnxNode) -> Value:
    if any(node.wants(index) for index in range(1, node.output_count)):
        raise node.unsupported(
            "batch normalisation in training mode (more than one result is used)", "export the model for inference"
        )
    if node.has("training_mode") and node.integer("training_mode") != 0:
        raise node.unsupported("batch normalisation with training_mode=1", "export the model for inference")
    if node.has("spatial") and node.integer("spatial") != 1:
        raise node.unsupported("batch normalisation with spatial=0")
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


@lowers("LpNormalization")
def lp_normalization(node: OnnxNode) -> Value:
    x = node.operand(0)
    axes = node.int64s([node.integer("axis")])
    length = node.emit("reduce", [x, axes], kind=f"l{node.integer('p')}", keep_dims=1, noop_with_empty_axes=0)
    # Where all elements are 0, so is the result.
    zero, one = node.constant(0, node.dtype(x)), node.constant(1, node.dtype(x))
    return node.emit("div", [x, node.emit("where", [node.emit("equal", [length, zero]), one, length])])
