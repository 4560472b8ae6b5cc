"""Multiplications by and additions of per-channel constants, and how weights and bias take them in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ..ir import Node, Value
from .facts import BIAS, Channels, Doubles, doubles, integer, is_float, number, numpy_dtype, output_channels
from .rewriter import Rewriter

_LARGEST_COPY: Final = 1 << 20


@dataclass(frozen=True)
class Affine:
    """y = factor · x + shift, each one number per channel, a single one, or absent."""

    factor: Doubles | None = None
    shift: Doubles | None = None


def affine_of(node: Node, x: Value, channels: Channels) -> Affine | None:
    """The node as an affine function of its operand `x`, which has these channels; None if it is no such thing."""
    if node.op == "neg":
        return Affine(factor=np.array([-1.0]))
    if node.op not in {"add", "sub", "mul", "div"} or not is_float(node.output):
        return None
    first, second = node.inputs
    constant = second if first is x else first
    numbers = channels.vector(constant) if constant is not None and constant is not x else None
    if numbers is None:
        return None
    if node.op == "add":
        return Affine(shift=numbers)
    if node.op == "mul":
        return Affine(factor=numbers)
    if node.op == "sub":
        return Affine(shift=-numbers) if first is x else Affine(np.array([-1.0]), numbers)
    return Affine(factor=1 / numbers) if first is x and bool(np.all(numbers != 0)) else None


def rounded(rewriter: Rewriter, like: Value, numbers: Doubles) -> Value | None:
    """A new constant named and typed like one that others may read as well; None if its type cannot hold a number."""
    with np.errstate(over="ignore"):
        array = numbers.astype(numpy_dtype(like.dtype))
    if not np.array_equal(np.isfinite(array.astype(np.float64)), np.isfinite(numbers)):
        return None
    return rewriter.constant(like.name, array, like.dtype)


def may_replace(rewriter: Rewriter, weights: Value) -> bool:
    """Whether new weights may take the place of these: copies of large shared ones would make the file larger."""
    alone = rewriter.sole_reader(weights) is not None
    return weights.constant is not None and is_float(weights) and (alone or weights.constant.nbytes <= _LARGEST_COPY)


def by_output_channel(node: Node, factors: Doubles) -> Doubles:
    """Factors, one per output channel or one for all, shaped so that they multiply the node's weights."""
    weights = node.inputs[1]
    assert weights is not None and weights.constant is not None
    rank = weights.constant.ndim
    if factors.size == 1:
        return factors.reshape([1] * rank)
    if node.op == "conv":
        return factors.reshape([-1] + [1] * (rank - 1))
    if node.op == "matmul":
        return factors.reshape([-1, 1] if integer(node, "trans_b") else [-1])
    inputs, per_group = weights.constant.shape[:2]
    repeated = np.repeat(factors.reshape(-1, per_group), inputs // integer(node, "group", 1), axis=0)
    return repeated.reshape([inputs, per_group] + [1] * (rank - 2))


def by_input_channel(node: Node, numbers: Doubles) -> Doubles | None:
    """Numbers, one per input channel or one for all, shaped so that they go with the node's weights; None if that cannot be."""
    weights = node.inputs[1]
    if weights is None or weights.constant is None or weights.constant.ndim < 2:
        return None
    shape = weights.constant.shape
    if numbers.size == 1:
        return numbers.reshape([1] * len(shape))
    if node.op == "conv":
        repeated = np.repeat(numbers.reshape(-1, shape[1]), shape[0] // integer(node, "group", 1), axis=0)
        return repeated.reshape([*shape[:2]] + [1] * (len(shape) - 2))
    if node.op == "matmul":
        return numbers if integer(node, "trans_b") else numbers.reshape(-1, 1)
    return numbers.reshape([-1] + [1] * (len(shape) - 1))


def fused_bias(rewriter: Rewriter, node: Node, affine: Affine) -> Value | None:
    """A bias for the node that is factor · (its own) + shift; None if its own is not constant, or the type cannot hold it."""
    channels, bias = output_channels(node), node.input(BIAS)
    if channels is None or (bias is not None and not bias.is_constant):
        return None
    total = np.zeros(channels.size) if bias is None else doubles(bias)
    if affine.factor is not None:
        total = total * affine.factor
    if affine.shift is not None:
        total = total + affine.shift
    return rounded(rewriter, bias if bias is not None else Value(f"{node.output.name}.bias", node.output.dtype), total)


def multiply_scale(node: Node, factor: float) -> None:
    """Multiplies the number by which a matmul scales its sums."""
    node.attributes["scale"] = number(node, "scale", 1.0) * factor
