"""Ops and opsets as they follow from what is registered: lowerings, and the function bodies of ONNX's schemas."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from onnx import defs

from ..load import NEWEST_TRIED_OPSET, OLDEST_OPSET
from ..lower import lowered_ops
from ..lower.functions import has_body
from ..lower.registry import find_lowering
from .table import OpRow


def registered_ops() -> list[OpRow]:
    """A row for each op of ONNX's schemas and each that is registered for another domain, without dtypes."""
    history: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for schema in defs.get_all_schemas_with_history():
        history[schema.domain, schema.name].append(schema)
    for domain, op, _ in lowered_ops():
        history.setdefault((domain, op), [])
    return [_row(domain, op, schemas) for (domain, op), schemas in sorted(history.items())]


def _row(domain: str, op: str, schemas: list[Any]) -> OpRow:
    schemas = sorted(schemas, key=lambda schema: schema.since_version)
    if not schemas:
        least = min(since for other, name, since in lowered_ops() if (other, name) == (domain, op))
        return OpRow(op, domain, f"{least}–", "lowering")
    newest = min(NEWEST_TRIED_OPSET, defs.onnx_opset_version()) if not domain else 1 << 30
    oldest = OLDEST_OPSET if not domain else 1
    ranges: list[tuple[int, int]] = []
    ways = set()
    for schema, following in zip(schemas, [*schemas[1:], None]):
        first = max(schema.since_version, oldest)
        last = newest if following is None else following.since_version - 1
        way = _way(domain, op, schema)
        if first > last or schema.deprecated or not way:
            continue
        ways.add(way)
        if ranges and ranges[-1][1] == first - 1:
            ranges[-1] = (ranges[-1][0], last)
        else:
            ranges.append((first, last))
    texts = (f"{first}–" if last == newest else f"{first}–{last}" if last > first else f"{first}" for first, last in ranges)
    return OpRow(op, domain, ", ".join(texts), "lowering" if "lowering" in ways else "function" if ways else "")


def _way(domain: str, op: str, schema: Any) -> str:
    if find_lowering(domain, op, schema.since_version) is not None:
        return "lowering"
    return "function" if has_body(schema) else ""
