"""Loop: its body becomes a closed graph, which gets what it captures as explicit operands."""

from __future__ import annotations

import onnx

from ..ir import Value
from .context import Scope
from .loop_builder import Body, Frame, Inside, build_loop, check_body, true
from .node import OnnxNode
from .registry import Result, lowers


@lowers("Loop")
def loop(node: OnnxNode) -> Result:
    body = node.graph("body")
    initial = [node.operand(index) for index in range(2, len(node.inputs))]
    check_body(node, body, 2 + len(initial), 1 + len(initial))

    def build(inside: Inside) -> Body:
        # The body runs only where its condition holds.
        values = [inside.number, true(inside.builder, node.label), *inside.carried]
        values[:2] = [_declared(inside, node, info, value) for info, value in zip(body.input, values[:2], strict=False)]
        outputs = inside.lower(node, body, values)
        return Body(outputs[0], outputs[1 : 1 + len(initial)], outputs[1 + len(initial) :])

    ends_early = not _stays_true(node, body)
    condition = node.input(1)
    starts = condition is None or (condition.constant is not None and condition.constant.any())
    if node.input(0) is None and starts and not ends_early:
        raise node.unsupported("never ends: it has neither a trip count nor a condition that can become false")
    return build_loop(
        Frame(node, node.builder, node.scope, node.label, node.input(0), node.input(1), initial, body, ends_early), build
    )


def _declared(inside: Inside, node: OnnxNode, info: onnx.ValueInfoProto, value: Value) -> Value:
    """The iteration's number or the condition: exporters declare them as scalars or as tensors of one element."""
    if len(info.type.tensor_type.shape.dim) != 1:
        return value
    if value.constant is not None:
        return Value(value.name, value.dtype, [1], value.constant.reshape(1))
    return inside.builder.emit(f"{node.label}/{info.name}", "reshape", [value, node.int64s([1])], allow_zero=0)


def _stays_true(node: OnnxNode, body: onnx.GraphProto) -> bool:
    """Whether the condition that the body returns is surely the one that it gets, or a constant."""
    name = body.output[0].name
    makers = {result: inner for inner in body.node for result in inner.output}
    for _ in range(len(makers)):
        if name in makers and makers[name].op_type in ("Identity", "Cast") and len(makers[name].input) == 1:
            name = makers[name].input[0]
    if name == body.input[1].name:
        return True
    for tensor in body.initializer:
        if tensor.name == name:
            return _is_true(onnx.helper.make_node("Constant", [], [name], value=tensor))
    if name in makers:
        return _is_true(makers[name])
    outside = node.builder.find(name, Scope(node.scope.opsets, {}, {}, False, node.scope))
    return outside is not None and outside.constant is not None and bool(outside.constant.any())


def _is_true(node: onnx.NodeProto) -> bool:
    if node.op_type != "Constant" or len(node.attribute) != 1:
        return False
    attribute = node.attribute[0]
    if attribute.name == "value" and attribute.t.data_type not in (onnx.TensorProto.STRING, onnx.TensorProto.UNDEFINED):
        return not attribute.t.external_data and bool(onnx.numpy_helper.to_array(attribute.t).any())
    return attribute.name == "value_int" and int(attribute.i) != 0
