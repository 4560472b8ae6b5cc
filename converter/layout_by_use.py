"""Where the channels of an input are, by what the model does with it: its sizes alone may fit two readings."""

from __future__ import annotations

from typing import Final

from .ir import Graph, Node, Value

_CHANNELS_SECOND: Final = {"conv", "conv_transpose", "max_pool", "average_pool", "instance_norm"}
_AS_THEY_ARE: Final = {"cast", "add", "sub", "mul", "div", "neg", "clip", "sqrt", "pow"}
"""Ops that leave every element of their operand in its place, if the result has its shape."""
_TO_FIRST: Final = [0, 3, 1, 2]


def layouts_by_use(graph: Graph) -> dict[str, str]:
    """ "nchw" or "nhwc" by the names of inputs of four dimensions; those whose readers disagree or say nothing are left out."""
    readers: dict[Value, list[Node]] = {}
    for node in graph.nodes:
        for value in node.inputs:
            if value is not None:
                readers.setdefault(value, []).append(node)
    found = {value.name: _layouts(value, readers) for value in graph.inputs if value.shape is not None and len(value.shape) == 4}
    return {name: layouts.pop() for name, layouts in found.items() if len(layouts) == 1}


def _layouts(value: Value, readers: dict[Value, list[Node]]) -> set[str]:
    layouts: set[str] = set()
    for node in readers.get(value, ()):
        result = node.outputs[0]
        if node.op in _CHANNELS_SECOND and node.inputs[0] is value:
            layouts.add("nchw")
        elif node.op == "transpose" and node.attributes.get("perm") == _TO_FIRST:
            layouts.add("nhwc")
        elif node.op in _AS_THEY_ARE and result is not None and result.shape == value.shape:
            layouts |= _layouts(result, readers)
    return layouts
