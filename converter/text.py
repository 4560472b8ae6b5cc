"""Prints a graph for people: one node a line, with the types of its results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from .ir import Attribute, Dim, Graph, Model, Node, Value

_SHOWN_ELEMENTS = 8


def format_model(model: Model) -> str:
    """The whole model, subgraphs indented below the node that they belong to."""
    return "\n".join(_graph_lines(model.graph, "")) + "\n"


def format_type(value: Value) -> str:
    """E.g. float32[N, 3, 224, 224]."""
    dtype = TensorProto.DataType.Name(value.dtype).lower() if value.dtype else "?"
    dtype = {"float": "float32", "double": "float64"}.get(dtype, dtype)
    return f"{dtype}[...]" if value.shape is None else f"{dtype}[{', '.join(_dim(dim) for dim in value.shape)}]"


def format_node(node: Node) -> str:
    """E.g. %y: float32[1, 8] = relu(%x)  # name."""
    results = ", ".join("_" if value is None else f"%{value.name}: {format_type(value)}" for value in node.outputs)
    operands = ", ".join("_" if value is None else _operand(value) for value in node.inputs)
    attributes = "".join(
        f" {key}={_attribute(value)}" for key, value in sorted(node.attributes.items()) if not isinstance(value, Graph)
    )
    return f"{results} = {node.op}({operands}){attributes}" + (f"  # {node.name}" if node.name else "")


def _graph_lines(graph: Graph, indent: str) -> Iterator[str]:
    inputs = ", ".join(f"%{value.name}: {format_type(value)}" for value in graph.inputs)
    yield f"{indent}graph {graph.name}({inputs})"
    for node in graph.nodes:
        yield f"{indent}  {format_node(node)}"
        for key, subgraph in node.subgraphs():
            yield f"{indent}    {key}:"
            yield from _graph_lines(subgraph, indent + "      ")
    yield f"{indent}  return {', '.join(_operand(value) for value in graph.outputs)}"


def _operand(value: Value) -> str:
    if value.constant is None:
        return f"%{value.name}"
    if value.constant.size > _SHOWN_ELEMENTS:
        return f"%{value.name}: {format_type(value)}"
    return f"{format_type(value)}{np.array2string(value.constant, separator=', ', max_line_width=200)}"


def _attribute(value: Attribute) -> str:
    return np.array2string(value, separator=", ") if isinstance(value, np.ndarray) else repr(value)


def _dim(dim: Dim) -> str:
    return "?" if dim is None else str(dim)
