"""Finds the values that index outputs were chosen by: equal scores may be ranked either way, so scores are compared instead."""

from __future__ import annotations

from collections.abc import Iterable

import onnx
from onnx import helper

_SELECTING = {
    "ArgMax", "ArgMin", "TopK", "NonZero", "NonMaxSuppression", "Unique", "Cast", "Round", "Floor", "Ceil", "Sign",
    "QuantizeLinear", "DynamicQuantizeLinear", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "IsNaN",
    "IsInf",
}  # fmt: skip
"""Ops whose results jump where their operands move smoothly."""


def chosen_by(graph: onnx.GraphProto, output: str) -> list[str]:
    """The last values before the output that change smoothly; empty if none of it was chosen by such values."""
    makers = {name: node for node in graph.node for name in node.output if name}
    found: dict[str, None] = {}
    seen: set[str] = set()
    waiting = [output]
    while waiting:
        name = waiting.pop()
        node = makers.get(name)
        if node is None or name in seen:
            continue
        seen.add(name)
        if node.op_type in _SELECTING:
            found.update((operand, None) for operand in node.input if operand in makers)
        else:
            waiting += node.input
    return list(found)


def with_outputs(proto: onnx.ModelProto, names: Iterable[str]) -> onnx.ModelProto:
    """The model with these values as its outputs."""
    changed = onnx.ModelProto()
    changed.CopyFrom(proto)
    del changed.graph.output[:]
    changed.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    return changed
