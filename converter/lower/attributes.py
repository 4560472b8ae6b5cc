"""Reads a node's attributes against the ONNX schema of its own opset, which supplies every default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import onnx
from onnx import AttributeProto, defs, helper

from jitney.errors import InvalidModel

from .foreign import ForeignSchema, Specification

Schema: TypeAlias = "defs.OpSchema | ForeignSchema"


def read_attributes(
    node: onnx.NodeProto, schema: Schema, bound: Mapping[str, onnx.AttributeProto], name: str
) -> dict[str, onnx.AttributeProto]:
    """Attributes by name: the node's own, then the schema's defaults. `bound` has those of the function around the node."""
    given = given_attributes(node, bound, name)
    for key, specification in schema.attributes.items():
        if key in given:
            given[key] = _typed(given[key], specification, node.op_type, name)
        elif specification.default_value.type != AttributeProto.UNDEFINED:
            given[key] = specification.default_value
        elif specification.required:
            raise InvalidModel(
                f"the attribute '{key}' is missing", node=name, op=node.op_type, hint="the model breaks the ONNX standard here"
            )
    return given


def given_attributes(node: onnx.NodeProto, bound: Mapping[str, onnx.AttributeProto], name: str) -> dict[str, onnx.AttributeProto]:
    """The node's own attributes. Those that name one of the function around the node take its value, or are left out with it."""
    given: dict[str, onnx.AttributeProto] = {}
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name in bound:
                resolved = AttributeProto()
                resolved.CopyFrom(bound[attribute.ref_attr_name])
                resolved.name = attribute.name
                given[attribute.name] = resolved
        elif attribute.name in given:
            raise InvalidModel(f"the attribute '{attribute.name}' is given twice", node=name, op=node.op_type)
        else:
            given[attribute.name] = attribute
    return given


def _typed(
    attribute: onnx.AttributeProto, specification: defs.OpSchema.Attribute | Specification, op: str, name: str
) -> onnx.AttributeProto:
    """The attribute, which must be of the schema's type. Models from the first days of ONNX leave the type out."""
    kind: Any = specification.type
    wanted = int(getattr(kind, "value", kind))
    if attribute.type == AttributeProto.UNDEFINED:
        typed = AttributeProto()
        typed.CopyFrom(attribute)
        typed.type = wanted  # type: ignore[assignment]
        return typed
    if attribute.type != wanted:
        raise InvalidModel(
            f"the attribute '{attribute.name}' is of type {AttributeProto.AttributeType.Name(attribute.type)}, "
            f"not {AttributeProto.AttributeType.Name(wanted)}",
            node=name,
            op=op,
        )
    return attribute


def python_value(attribute: onnx.AttributeProto) -> Any:
    """The payload: int, float, str, lists of them, a TensorProto or a GraphProto."""
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if attribute.type == AttributeProto.STRINGS:
        return [item.decode("utf-8", "replace") for item in value]
    return list(value) if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS) else value
