"""What to do about an op that no schema describes: it may be misspelt, too new for the opset, or of no declared domain."""

from __future__ import annotations

import difflib
from typing import Final

from onnx import defs

from .registry import lowered_ops

_LEAST_LIKE: Final = 0.75


def advice(op: str, version: int, domain: str) -> str:
    """A hint, or an empty text if nothing is alike."""
    since = [
        schema.since_version for schema in defs.get_all_schemas_with_history() if (schema.domain, schema.name) == (domain, op)
    ]
    label = domain or "ONNX"
    if since and version == 0:
        return f"the model does not say which version of {label} it uses: add the domain to its opset_import"
    if since and version < min(since):
        return f"{label} has had {op} since opset {min(since)}: export the model with that opset or a later one"
    others = sorted({other or "ONNX" for other, name, _ in lowered_ops() if name == op and other != domain})
    if others:
        return f"did you mean {op} of the domain {others[0]}? It is given to a node as its domain"
    known = {name for other, name, _ in lowered_ops() if other == domain}
    known |= {schema.name for schema in defs.get_all_schemas_with_history() if schema.domain == domain}
    spelt = {name.lower(): name for name in sorted(known)}
    close = difflib.get_close_matches(op.lower(), spelt, n=1, cutoff=_LEAST_LIKE)
    return f"did you mean {spelt[close[0]]}? Names must match to the letter" if close else ""
