"""Finds the function body of an op: what the ONNX standard says it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx
from onnx import defs, helper

from jitney.errors import InvalidModel

from ..ir import Affine, Value
from ..load import canonical_domain
from .compound import SequenceValue


@dataclass(frozen=True)
class FunctionBody:
    """Nodes with formal operands and results, in opsets of their own."""

    inputs: list[str]
    outputs: list[str]
    nodes: list[onnx.NodeProto]
    opsets: Mapping[str, int]

    @staticmethod
    def of(proto: onnx.FunctionProto) -> FunctionBody:
        """The body that a FunctionProto holds."""
        opsets = {canonical_domain(entry.domain): entry.version for entry in proto.opset_import}
        return FunctionBody(list(proto.input), list(proto.output), list(proto.node), opsets)


def overload_of(proto: onnx.NodeProto | onnx.FunctionProto) -> str:
    """Which of several functions of one name is meant; IR versions before 10 have no overloads."""
    return str(getattr(proto, "overload", ""))


def has_body(schema: Any) -> bool:
    """Whether the standard says what the op of this schema is made of."""
    return bool(schema.has_function or schema.has_context_dependent_function)


def function_body(node: onnx.NodeProto, schema: Any, version: int, inputs: Sequence[Value | None]) -> FunctionBody | None:
    """The body for a node of this schema in a model of opset `version`, or None. Some bodies depend on the operands' types."""
    data = b""
    if schema.has_function:
        data = schema.get_function_with_opset_version(_nearest(schema.function_opset_versions, version))
    elif schema.has_context_dependent_function:
        types = [_type(value).SerializeToString() for value in inputs]
        number = _nearest(schema.context_dependent_function_opset_versions, version)
        try:
            data = schema.get_context_dependent_function_with_opset_version(number, node.SerializeToString(), types)
        except Exception as error:  # of many types, for operands and attributes that the op cannot have
            raise InvalidModel(f"its function body cannot be made: {error}") from error
    if not data:
        return None
    proto = onnx.FunctionProto()
    proto.ParseFromString(data)
    body = FunctionBody.of(proto)
    # Bodies of other domains' ops may leave open which version of ONNX's own ops they use.
    own = {"": version if not schema.domain else defs.onnx_opset_version(), schema.domain: version}
    return FunctionBody(body.inputs, body.outputs, body.nodes, {**own, **body.opsets})


def _nearest(available: Sequence[int], version: int) -> int:
    """The newest body that the model's opset knows. Bodies in newer ops say what the op always meant, and lower as well."""
    return max((number for number in available if number <= version), default=min(available))


def _type(value: Value | None) -> onnx.TypeProto:
    if value is None:
        return onnx.TypeProto()
    if isinstance(value, SequenceValue):
        return helper.make_sequence_type_proto(helper.make_tensor_type_proto(value.dtype, None))
    if value.shape is None:
        return helper.make_tensor_type_proto(value.dtype, None)
    shape = [str(dim) if isinstance(dim, Affine) else dim for dim in value.shape]
    return helper.make_tensor_type_proto(value.dtype, shape)
