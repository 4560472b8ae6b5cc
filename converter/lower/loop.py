"""Loop: its body becomes a closed graph, which gets what it captures as explicit operands."""

from __future__ import annotations

import onnx

from ..ir import Value
from .graph import GraphBuilder
from .loop_builder import Body, build_loop, check_body, lower_body, true
from .node import OnnxNode
from .registry import Result, lowers


@lowers("Loop")
def loop(node: OnnxNode) -> Result:
    body = node.graph("body")
    initial = [node.operand(index) for index in range(2, len(node.inputs))]
    check_body(node, body, 2 + len(initial), 1 + len(initial))
    trips, condition = node.input(0), node.input(1)

    def build(inner: GraphBuilder, number: Value, carried: list[Value]) -> Body:
        # The body runs only where its condition holds.
        values = [number, true(inner, node.label), *carried]
        values[:2] = [_declared(inner, node, info, value) for info, value in zip(body.input, values[:2], strict=False)]
        outputs = lower_body(node, inner, body, values)
        return Body(outputs[0], outputs[1 : 1 + len(initial)], outputs[1 + len(initial) :])

    return build_loop(node, node.builder, node.label, (trips, condition), initial, build)


def _declared(inner: GraphBuilder, node: OnnxNode, info: onnx.ValueInfoProto, value: Value) -> Value:
    """The iteration's number or the condition: exporters declare them as scalars or as tensors of one element."""
    if len(info.type.tensor_type.shape.dim) != 1:
        return value
    if value.constant is not None:
        return Value(value.name, value.dtype, [1], value.constant.reshape(1))
    return inner.emit(f"{node.label}/{info.name}", "reshape", [value, node.int64s([1])], allow_zero=0)
