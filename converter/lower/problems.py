"""What stands in the way of a conversion: each problem gets the ONNX node, its op, opset and operands, and advice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import onnx

from jitney.errors import Error, InvalidModel, Unsupported

from ..ir import Value
from ..text import format_type

_MOST_SHOWN = 8


@dataclass(frozen=True)
class Origin:
    """The ONNX node that IR nodes come from."""

    node: str
    op: str
    opset: str
    """The version, with the domain before it unless that is ONNX's own."""
    given: Callable[[], Sequence[str]]
    """Its operands in words."""


def origin_of(
    label: str, node: onnx.NodeProto, domain: str, opsets: Mapping[str, int], given: Callable[[], Sequence[str]]
) -> Origin:
    """Of a node of a graph with those versions of domains."""
    version = opsets.get(domain, 0)
    return Origin(label, node.op_type, f"{domain} {version}" if domain else str(version), given)


def explain(error: Error, origin: Origin | None) -> None:
    """Adds to an error what it does not say yet, and turns the names of IR nodes and ops into ONNX's."""
    if origin is not None and not error.opset:
        error.node = origin.node
        error.op = origin.op
        error.opset = origin.opset
        error.inputs = error.inputs or tuple(origin.given())
    if not error.hint:
        error.hint = _advice(error)


def _advice(error: Error) -> str:
    if isinstance(error, InvalidModel):
        return "the model breaks the ONNX standard here: export it again, or ask those who made it"
    return "replace the op in the model, or ask for it in an issue"


def operand_texts(names: Sequence[str], values: Sequence[Value | None]) -> list[str]:
    """Operands in words: "x: float32[1, 3]"; of many only the first."""
    texts: list[str] = []
    for name, value in zip(names[:_MOST_SHOWN], values):
        kind = "unknown" if value is None or not (value.dtype or value.shape) else format_type(value)
        texts.append(f"{name}: {kind}" if name else "nothing")
    return texts if len(names) <= _MOST_SHOWN else [*texts, "…"]


def summary(errors: Sequence[Unsupported]) -> Unsupported:
    """One error that lists all."""
    if len(errors) == 1:
        return errors[0]
    groups: dict[tuple[str, str, str], list[Unsupported]] = {}
    for error in errors:
        groups.setdefault((error.op, error.opset, error.message), []).append(error)
    lines = []
    for (op, opset, message), group in sorted(groups.items()):
        shown = ", ".join(f"'{error.node}'" for error in group[:5]) + (f" and {len(group) - 5} more" if len(group) > 5 else "")
        lines.append(f"  {len(group)} × {op} (opset {opset}): {message} (node{'s' if len(group) > 1 else ''} {shown})")
    hints = sorted({error.hint for error in errors if error.hint})
    hint = "; ".join([*hints, "`jitney convert --check` lists each with its operands"])
    return Unsupported(f"{len(errors)} nodes of the model cannot be converted:\n" + "\n".join(lines), hint=hint)
