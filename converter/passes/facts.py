"""What passes ask of values and nodes: constants, ranks, provably equal shapes, per-channel numbers, attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper

from ..ir import Node, Value

Array = npt.NDArray[np.generic]
Doubles = npt.NDArray[np.float64]

FLOATS: Final = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16})
PRODUCTS: Final = frozenset({"conv", "conv_transpose", "matmul"})
"""Ops with an epilogue; all have operands (x, w, bias, residual, slope)."""
BIAS: Final = 2
RESIDUAL: Final = 3
SLOPE: Final = 4


def is_float(value: Value) -> bool:
    """Whether arithmetic on the value is floating-point."""
    return value.dtype in FLOATS


def numpy_dtype(dtype: int) -> np.dtype[np.generic]:
    """NumPy's (or ml_dtypes') type for ONNX's number."""
    return np.dtype(helper.tensor_dtype_to_np_dtype(dtype))


def rank(value: Value) -> int | None:
    """The number of axes, if known."""
    return None if value.shape is None else len(value.shape)


def same_shape(a: Value, b: Value) -> bool:
    """Whether both shapes are known to be equal, symbols included."""
    if a is b:
        return a.shape is not None
    return a.shape is not None and b.shape is not None and None not in a.shape and a.shape == b.shape


def scalar(value: Value | None) -> float | None:
    """The number in a constant of one element."""
    if value is None or value.constant is None or value.constant.size != 1 or value.dtype == TensorProto.STRING:
        return None
    return float(value.constant.reshape(()).astype(np.float64))


def doubles(value: Value) -> Doubles:
    """The numbers of a constant in double precision."""
    assert value.constant is not None
    return np.asarray(value.constant.astype(np.float64))


def integers(value: Value | None) -> list[int] | None:
    """All elements of an integer tensor, row-major, if they are known."""
    if value is None:
        return None
    if value.constant is not None:
        return [int(element) for element in value.constant.reshape(-1).astype(np.int64)]
    if value.elements is None or not all(isinstance(element, int) for element in value.elements):
        return None
    return [element for element in value.elements if isinstance(element, int)]


def is_filled_with(value: Value | None, number: float) -> bool:
    """Whether the value is a constant all of whose elements are this number."""
    if value is None or value.constant is None or value.dtype == TensorProto.STRING:
        return False
    return bool(np.all(doubles(value) == number))


def broadcasts_into(value: Value, other: Value) -> bool:
    """Whether combining the value with `other` surely has the shape of `other`."""
    if value.shape == [] or same_shape(value, other):
        return True
    if value.shape is None or other.shape is None or len(value.shape) > len(other.shape):
        return False
    aligned = other.shape[len(other.shape) - len(value.shape) :]
    return all(dim == 1 or (dim is not None and dim == wanted) for dim, wanted in zip(value.shape, aligned, strict=True))


def along_axis(value: Value, axis: int, of_rank: int, size: int) -> Doubles | None:
    """The numbers of a constant that, broadcast to a tensor of that rank, varies along one axis (of that size) only: `size`
    numbers, or a single one. None if it varies otherwise, or would enlarge the tensor."""
    if value.constant is None or value.constant.ndim > of_rank:
        return None
    dims = [1] * (of_rank - value.constant.ndim) + list(value.constant.shape)
    if dims[axis] not in (1, size) or any(dim != 1 for i, dim in enumerate(dims) if i != axis):
        return None
    return doubles(value).reshape(-1)


@dataclass(frozen=True)
class Channels:
    """The axis of a tensor along which a product's weights vary."""

    axis: int
    rank: int
    size: int

    def vector(self, value: Value) -> Doubles | None:
        """The numbers of a constant that varies along this axis only: `size` of them, or a single one."""
        return along_axis(value, self.axis, self.rank, self.size)


def output_channels(node: Node) -> Channels | None:
    """The channels (conv) or columns (matmul) that a product's bias belongs to; None if there are none or too little is known."""
    shape, weights = node.output.shape, node.input(1)
    axis = -1 if node.op == "matmul" else 1
    if shape is None or not shape or weights is None or (node.op == "matmul" and (rank(weights) or 0) < 2):
        return None
    size = shape[axis]
    return Channels(axis % len(shape), len(shape), size) if isinstance(size, int) else None


def input_channels(node: Node) -> Channels | None:
    """The axis of a product's first operand that is summed over together with operand 1's."""
    operand = node.input(0)
    if operand is None or not operand.shape or (node.op == "matmul" and integer(node, "trans_a")):
        return None
    axis = len(operand.shape) - 1 if node.op == "matmul" else 1
    size = operand.shape[axis]
    return Channels(axis, len(operand.shape), size) if isinstance(size, int) else None


def integer(node: Node, attribute: str, default: int = 0) -> int:
    """An integer attribute."""
    number = node.attributes.get(attribute, default)
    assert isinstance(number, int), f"{node.op}.{attribute} is no integer"
    return number


def integer_list(node: Node, attribute: str) -> list[int]:
    """A list of integers; empty if it was left out."""
    items = node.attributes.get(attribute, [])
    assert isinstance(items, list), f"{node.op}.{attribute} is no list"
    return [int(item) for item in items]


def number(node: Node, attribute: str, default: float) -> float:
    """A number attribute."""
    found = node.attributes.get(attribute, default)
    assert isinstance(found, (int, float)), f"{node.op}.{attribute} is no number"
    return float(found)


def text(node: Node, attribute: str, default: str = "") -> str:
    """A text attribute."""
    return str(node.attributes.get(attribute, default))


def activation(node: Node) -> str:
    """The activation in a product's epilogue."""
    return text(node, "activation", "none")
