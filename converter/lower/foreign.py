"""Schemas of ops that the onnx package does not know: what ONNX Runtime adds in its own domain, and a few in ONNX's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from onnx import AttributeProto, helper

MICROSOFT: Final = "com.microsoft"
MANY: Final = 2**31 - 1

_TYPES: Final[Mapping[Any, int]] = {int: AttributeProto.INT, float: AttributeProto.FLOAT, str: AttributeProto.STRING}
_LIST_TYPES: Final[Mapping[Any, int]] = {int: AttributeProto.INTS, float: AttributeProto.FLOATS, str: AttributeProto.STRINGS}


@dataclass(frozen=True)
class Specification:
    """What a schema says of an attribute; as in onnx.defs.OpSchema.Attribute."""

    type: int
    default_value: AttributeProto
    required: bool


@dataclass(frozen=True)
class Required:
    """Marks an attribute of this type (int, [int] …) that must be given."""

    type: Any


@dataclass(frozen=True)
class ForeignSchema:
    """The part of onnx.defs.OpSchema that the converter reads."""

    name: str
    domain: str
    min_input: int
    max_input: int
    min_output: int
    max_output: int
    attributes: Mapping[str, Specification]
    since_version: int = 1
    has_function: bool = False
    has_context_dependent_function: bool = False


Counts: TypeAlias = "int | tuple[int, int]"
_schemas: dict[tuple[str, str], ForeignSchema] = {}


def declare(*ops: str, inputs: Counts, outputs: Counts = 1, domain: str = MICROSOFT, **attributes: Any) -> None:
    """Adds a schema for each op. `attributes` gives the default, or the type (int, [int] …) of an attribute without one."""
    least_in, most_in = (inputs, inputs) if isinstance(inputs, int) else inputs
    least_out, most_out = (outputs, outputs) if isinstance(outputs, int) else outputs
    specifications = {name: _specification(name, given) for name, given in attributes.items()}
    for op in ops:
        assert (domain, op) not in _schemas, f"{op} is declared twice"
        _schemas[domain, op] = ForeignSchema(op, domain, least_in, most_in, least_out, most_out, specifications)


def foreign_schema(domain: str, op: str) -> ForeignSchema | None:
    """The schema of that op, or None."""
    return _schemas.get((domain, op))


def _specification(name: str, given: Any) -> Specification:
    required = isinstance(given, Required)
    kind = given.type if isinstance(given, Required) else given
    if isinstance(kind, list) and len(kind) == 1 and kind[0] in _LIST_TYPES:
        return Specification(_LIST_TYPES[kind[0]], AttributeProto(), required)
    if isinstance(kind, type):
        return Specification(_TYPES[kind], AttributeProto(), required)
    default = helper.make_attribute(name, kind)
    return Specification(default.type, default, False)
