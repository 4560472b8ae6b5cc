"""The converter's in-memory form of the intermediate representation (docs/ir.md): typed SSA graphs that passes rewrite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Affine:
    """constant + Σ coefficient · symbol; terms are sorted by symbol and have no zero coefficients."""

    constant: int
    terms: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        """As the runtime prints it: "N", "2*N - 1"."""
        text = ""
        for factor, name in [*((factor, name) for name, factor in self.terms), (self.constant, "")]:
            if not name and not factor and text:
                continue
            sign = ("-" if factor < 0 else "") if not text else (" - " if factor < 0 else " + ")
            size = str(abs(factor))
            text += sign + (size if not name else name if size == "1" else f"{size}*{name}")
        return text


Dim: TypeAlias = int | Affine | None
"""An integer, an affine expression of symbols, or None where unknown."""

Attribute: TypeAlias = "int | float | str | list[int] | list[float] | list[str] | npt.NDArray[np.generic] | Graph"


def symbol(name: str) -> Affine:
    """The dim that is just this symbol."""
    return Affine(0, ((name, 1),))


@dataclass(eq=False)
class Quantisation:
    """q = round(x / scale) + zero_point, per tensor (axis −1) or along an axis."""

    scale: npt.NDArray[np.float32]
    zero_point: npt.NDArray[np.generic] | None = None
    axis: int = -1


@dataclass(eq=False)
class Value:
    """An edge of the graph. Exactly one of these defines it: a graph input, `constant`, or the node in `producer`."""

    name: str
    dtype: int = 0
    """Number from onnx.TensorProto.DataType; 0 if unknown."""
    shape: list[Dim] | None = None
    """None if the rank is unknown."""
    constant: npt.NDArray[np.generic] | None = None
    quantisation: Quantisation | None = None
    producer: Node | None = field(default=None, repr=False)
    elements: list[Dim] | None = None
    """Elements of a small integer tensor as far as inference knows them, row-major; set by `infer_shapes` only."""

    @property
    def is_constant(self) -> bool:
        """Whether the value is known and stored."""
        return self.constant is not None


@dataclass(eq=False)
class Node:
    """An op applied to values; None stands for an optional operand left out or a result that nobody reads."""

    op: str
    inputs: list[Value | None]
    outputs: list[Value | None]
    attributes: dict[str, Attribute] = field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        for value in self.outputs:
            if value is not None:
                value.producer = self

    def input(self, index: int) -> Value | None:
        """Operand `index`, or None if it was left out or lies beyond the last."""
        return self.inputs[index] if index < len(self.inputs) else None

    @property
    def output(self) -> Value:
        """The first result, which every op has."""
        value = self.outputs[0]
        assert value is not None, f"{self.op} {self.name} has no first result"
        return value

    def captured(self, subgraph: Graph) -> Iterator[tuple[Value | None, Value]]:
        """Operands that a subgraph of this node gets as they are, with its inputs that stand for them."""
        carried = self.attributes.get("carried", 0)
        assert isinstance(carried, int)
        operand, stand_in = (2 + carried, 2 + carried) if self.op == "loop" else (1, 0)
        return zip(self.inputs[operand:], subgraph.inputs[stand_in:], strict=True)

    def subgraphs(self) -> Iterator[tuple[str, Graph]]:
        """Attributes that are graphs."""
        for key, attribute in self.attributes.items():
            if isinstance(attribute, Graph):
                yield key, attribute


@dataclass(eq=False)
class Graph:
    """Nodes in topological order. Subgraphs (in node attributes) are closed: captured values are operands of their node."""

    name: str
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    states: list[tuple[int, int]] = field(default_factory=list)
    """(position among the inputs, position among the outputs): the output of one run is the input of the next."""

    def values(self) -> Iterator[Value]:
        """Every value once: inputs, constants in order of first use, results; then outputs that are constants."""
        seen: set[int] = set()
        operands: Iterable[Value | None] = (value for node in self.nodes for value in (*node.inputs, *node.outputs))
        for value in (*self.inputs, *operands, *self.outputs):
            if value is not None and id(value) not in seen:
                seen.add(id(value))
                yield value

    def consumers(self) -> dict[Value, list[tuple[Node, int]]]:
        """(node, operand index) pairs that read each value. Graph outputs are not among them."""
        readers: dict[Value, list[tuple[Node, int]]] = {}
        for node in self.nodes:
            for index, value in enumerate(node.inputs):
                if value is not None:
                    readers.setdefault(value, []).append((node, index))
        return readers

    def replace(self, old: Value, new: Value) -> None:
        """Makes every reader of `old`, graph outputs included, read `new`. The caller keeps output names (see `Model`)."""
        for node in self.nodes:
            node.inputs = [new if value is old else value for value in node.inputs]
        self.outputs = [new if value is old else value for value in self.outputs]

    def unique_name(self, stem: str) -> str:
        """`stem`, or `stem.N` with the smallest N that no value of this graph has."""
        taken = {value.name for value in self.values()}
        if stem not in taken:
            return stem
        return next(name for n in range(1, len(taken) + 2) if (name := f"{stem}.{n}") not in taken)


@dataclass(eq=False)
class Model:
    """A graph and what travels with it. `output_names` are the names users ask for, in the order of graph.outputs: passes may
    replace an output value by another (even by an input or a constant), and the writer restores the names."""

    graph: Graph
    metadata: dict[str, str] = field(default_factory=dict)
    output_names: list[str] = field(default_factory=list)


def constant(name: str, array: npt.NDArray[np.generic], dtype: int) -> Value:
    """A constant value; `dtype` is given because NumPy lacks some of ONNX's types (they arrive as ml_dtypes)."""
    return Value(name, dtype, list(array.shape), constant=np.ascontiguousarray(array).reshape(array.shape))


def known_shape(value: Value) -> Sequence[int] | None:
    """The shape if every dim is an integer."""
    if value.shape is None or not all(isinstance(dim, int) for dim in value.shape):
        return None
    return [dim for dim in value.shape if isinstance(dim, int)]
