"""One ONNX node as the lowerings see it: operands, attributes with all defaults, and the means to emit IR nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from jitney.errors import InvalidModel, Unsupported

from ..ir import Attribute, Value, constant
from ..tensors import sparse_to_array, to_array
from .attributes import python_value
from .registry import Result

if TYPE_CHECKING:
    from .context import Scope
    from .graph import GraphBuilder

Array = npt.NDArray[np.generic]


class OnnxNode:
    """A node to be lowered. `since` is the version of its schema, `label` its (unique) name for messages."""

    def __init__(
        self,
        builder: GraphBuilder,
        scope: Scope,
        proto: onnx.NodeProto,
        since: int,
        label: str,
        inputs: list[Value | None],
        attributes: dict[str, onnx.AttributeProto],
        expand: Callable[[], Result],
    ) -> None:
        self.builder = builder
        self.scope = scope
        self.proto = proto
        self.op = proto.op_type
        self.since = since
        self.label = label
        self.inputs = inputs
        self.attributes = attributes
        self._expand = expand

    # Operands

    def input(self, index: int) -> Value | None:
        """Operand `index`, or None if it was left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def operand(self, index: int) -> Value:
        """Operand `index`, which the op needs."""
        value = self.input(index)
        if value is None:
            raise self.invalid(f"operand {index} is missing")
        return value

    @property
    def operands(self) -> list[Value]:
        """All operands of a variadic op."""
        return [self.operand(index) for index in range(len(self.inputs))]

    @property
    def output_count(self) -> int:
        """Number of results, unused ones included."""
        return len(self.proto.output)

    def wants(self, index: int) -> bool:
        """Whether result `index` has a name."""
        return index < len(self.proto.output) and bool(self.proto.output[index])

    # Attributes

    def has(self, name: str) -> bool:
        """Whether the attribute is given or has a default."""
        return name in self.attributes

    def integer(self, name: str) -> int:
        """An integer attribute."""
        return int(python_value(self._attribute(name)))

    def number(self, name: str) -> float:
        """A float attribute."""
        return float(python_value(self._attribute(name)))

    def whole(self, name: str) -> int:
        """An integer that the first opsets had as a float."""
        number = self.number(name)
        if not number.is_integer():
            raise self.unsupported(f"{name} is {number}, which is no whole number")
        return int(number)

    def text(self, name: str) -> str:
        """A string attribute."""
        return str(python_value(self._attribute(name)))

    def integers(self, name: str) -> list[int] | None:
        """A list of integers, or None if it is absent."""
        return [int(item) for item in python_value(self.attributes[name])] if name in self.attributes else None

    def numbers(self, name: str) -> list[float] | None:
        """A list of floats, or None if it is absent."""
        return [float(item) for item in python_value(self.attributes[name])] if name in self.attributes else None

    def texts(self, name: str) -> list[str] | None:
        """A list of strings, or None if it is absent."""
        return [str(item) for item in python_value(self.attributes[name])] if name in self.attributes else None

    def tensor(self, name: str) -> Array:
        """A tensor attribute."""
        return to_array(python_value(self._attribute(name)), self.folder)

    def sparse_tensor(self, name: str) -> Array:
        """A sparse tensor attribute, made dense."""
        return sparse_to_array(python_value(self._attribute(name)), self.folder)

    def graph(self, name: str) -> onnx.GraphProto:
        """A graph attribute."""
        found: onnx.GraphProto = python_value(self._attribute(name))
        return found

    def _attribute(self, name: str) -> onnx.AttributeProto:
        if name not in self.attributes:
            raise self.invalid(f"the attribute '{name}' is missing")
        return self.attributes[name]

    @property
    def folder(self) -> Path | None:
        """Where external data lies."""
        return self.builder.context.folder

    # Types

    def dtype(self, value: Value) -> int:
        """The element type."""
        self.builder.types.settle(value)
        if not value.dtype:
            raise self.unsupported(f"the type of '{value.name}' cannot be told")
        return value.dtype

    def rank(self, value: Value) -> int:
        """The number of dimensions."""
        self.builder.types.settle(value)
        if value.shape is None:
            raise self.unsupported(
                f"the rank of '{value.name}' cannot be told", "give the shapes of the inputs: --shape NAME=1,3,224,224"
            )
        return len(value.shape)

    def shape(self, value: Value) -> Sequence[object] | None:
        """Dims as far as they are known."""
        self.builder.types.settle(value)
        return value.shape

    def axis(self, axis: int, rank: int) -> int:
        """The axis counted from the front."""
        if not -rank <= axis < max(rank, 1):
            raise self.invalid(f"axis {axis} is outside a tensor of rank {rank}")
        return axis + rank if axis < 0 else axis

    # Building

    def emit(self, op: str, inputs: Sequence[Value | None], **attributes: Attribute) -> Value:
        """Adds an IR node with one result."""
        return self.emit_results(op, inputs, [True], **attributes)[0]  # type: ignore[return-value]

    def emit_results(
        self, op: str, inputs: Sequence[Value | None], wanted: Iterable[bool], **attributes: Attribute
    ) -> list[Value | None]:
        """Adds an IR node with several results, None for those that nobody wants."""
        return self.builder.emit_results(f"{self.label}/{op}", op, inputs, wanted, attributes)

    def constant(self, data: npt.ArrayLike | Array, dtype: int) -> Value:
        """A constant of the given type."""
        element = helper.tensor_dtype_to_np_dtype(dtype)
        with np.errstate(over="ignore"):
            return constant(self.builder.context.fresh(f"{self.label}/constant"), np.asarray(data).astype(element), dtype)

    def int64s(self, items: Sequence[int] | int) -> Value:
        """An int64 constant: 1-D from a list, a scalar from a number."""
        return self.constant(np.asarray(items, np.int64), int(onnx.TensorProto.INT64))

    def expand_function(self) -> Result:
        """Lowers through the op's ONNX function body."""
        return self._expand()

    # Failures

    def invalid(self, message: str, hint: str = "") -> InvalidModel:
        """An error that names this node: the model is wrong."""
        return InvalidModel(message, node=self.label, op=self.op, hint=hint)

    def unsupported(self, message: str, hint: str = "") -> Unsupported:
        """An error that names this node: the model is right, but this cannot be done."""
        return Unsupported(message, node=self.label, op=self.op, hint=hint)
