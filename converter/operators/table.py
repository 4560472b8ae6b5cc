"""The table of operators: its rows, and the file in the package that holds it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

TABLE: Final = "operators.json"


@dataclass(frozen=True)
class OpRow:
    """One ONNX op."""

    op: str
    domain: str
    """Empty for ONNX's own."""
    opsets: str
    """In which versions of its domain it can be converted, e.g. "7–"; empty: in none."""
    by: str
    """"lowering", "function" (through its ONNX function body) or "" (not at all)."""
    becomes: tuple[str, ...] = ()
    """The IR ops that it was seen to become."""
    probed: bool = False
    """Whether there were examples to try dtypes with."""
    fast: tuple[str, ...] = ()
    """Dtypes with which all examples run on kernels made for them, or need none."""
    partly: tuple[str, ...] = ()
    """Dtypes with which some examples do, and others run on the plain kernels."""
    plain: tuple[str, ...] = ()
    """Dtypes that run on the plain kernels."""


def table_text(rows: Sequence[OpRow]) -> str:
    """The file's text: one op a line."""
    lines = ",\n".join(json.dumps(asdict(row), ensure_ascii=False) for row in rows)
    return f"[\n{lines}\n]\n"


def read_table() -> list[OpRow]:
    """The rows that came with the package."""
    import jitney

    text = Path(jitney.__file__).with_name(TABLE).read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = [_with_tuples(row) for row in json.loads(text)]
    return [OpRow(**row) for row in rows]


def _with_tuples(row: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
