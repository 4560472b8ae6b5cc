"""What is measured: a small graph, with a description of its inputs and weights, which are drawn only when it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

Array = npt.NDArray[Any]

_OPSET = 20
_IR_VERSION = 9


@dataclass(frozen=True)
class Drawn:
    """An array of random numbers: normal ones, integers from 1 to 199 (-100 to 99 for int8), or truth values."""

    shape: tuple[int, ...]
    dtype: npt.DTypeLike = np.float32
    scale: float = 1.0
    positive: bool = False

    def draw(self, random: np.random.Generator) -> Array:
        """Draws it."""
        dtype = np.dtype(self.dtype)
        if dtype == np.bool_:
            return random.random(self.shape) < 0.5
        if dtype == np.int8:
            return random.integers(-100, 100, self.shape).astype(dtype)
        if np.issubdtype(dtype, np.integer):
            return random.integers(1, 200, self.shape).astype(dtype)
        normal: Array = random.standard_normal(self.shape, np.float32) * np.float32(self.scale)
        drawn: Array = np.abs(normal) if self.positive else normal
        return drawn.astype(dtype)


@dataclass(frozen=True)
class Case:
    """A graph of `nodes` from `inputs` to `outputs`."""

    name: str
    nodes: Sequence[onnx.NodeProto]
    inputs: Mapping[str, Drawn]
    constants: Mapping[str, Drawn | Array] = field(default_factory=dict)
    outputs: Sequence[str] = ("y",)

    def model(self) -> onnx.ModelProto:
        """The graph as ONNX; weights are the same each time."""
        random = np.random.default_rng(0)
        graph = helper.make_graph(
            list(self.nodes),
            "case",
            [helper.make_tensor_value_info(name, _element_type(x), list(x.shape)) for name, x in self.inputs.items()],
            [onnx.ValueInfoProto(name=name) for name in self.outputs],
            [numpy_helper.from_array(_array(x, random), name) for name, x in self.constants.items()],
        )
        opset = helper.make_opsetid("", _OPSET)
        return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION))

    def feeds(self) -> dict[str, Array]:
        """Inputs; the same each time."""
        random = np.random.default_rng(1)
        return {name: x.draw(random) for name, x in self.inputs.items()}


def node(op: str, inputs: str, output: str = "y", **attributes: Any) -> onnx.NodeProto:
    """A node; names are separated by commas, and may be left out: `x,,scales`."""
    return helper.make_node(op, _names(inputs), _names(output), **attributes)


def floats(*shape: int, scale: float = 1.0) -> Drawn:
    """Normal numbers."""
    return Drawn(shape, scale=scale)


def positive(*shape: int) -> Drawn:
    """Magnitudes of normal numbers."""
    return Drawn(shape, positive=True)


def integers(*shape: int, dtype: npt.DTypeLike = np.int64) -> Drawn:
    """Integers from 1 to 199."""
    return Drawn(shape, dtype)


def truths(*shape: int) -> Drawn:
    """True or false."""
    return Drawn(shape, np.bool_)


def number(value: float) -> Array:
    """One float32."""
    return np.array(value, np.float32)


def sizes(*values: int) -> Array:
    """A list of sizes, axes or positions, as ONNX wants it."""
    return np.array(values, np.int64)


def size_name(shape: Sequence[int]) -> str:
    """64x56x56: a shape as names have it."""
    return "x".join(map(str, shape))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _element_type(drawn: Drawn) -> int:
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(drawn.dtype)))


def _array(constant: Drawn | Array, random: np.random.Generator) -> Array:
    return constant.draw(random) if isinstance(constant, Drawn) else constant
