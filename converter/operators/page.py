"""Renders the table of operators as docs/operators.md."""

from __future__ import annotations

from collections.abc import Sequence

from .table import OpRow

_MOST_SHOWN = 8

_HEAD = """\
# Operators

Made by `make operators`; a test fails if it is out of date. Ops and opsets follow from what is registered in `converter/lower`
and from ONNX's function bodies. Dtypes were found out by converting and running one node for each dtype that the op's schema
allows: the examples of ONNX's own test cases, cast to that dtype. `jitney info --ops` shows the same table, `jitney convert
--check model.onnx` what a model lacks.

* **becomes**: the ops of the [IR](ir.md) that the examples became, or the op's ONNX function body.
* **fast**: dtypes of the data operand with which all examples (up to four) run on the CPU backend's own kernels, or need none;
  **partly**: some do, others run on the plain kernels; **plain**: all run on those. The backend `reference` has plain kernels for
  all. An op without dtypes converts as well, but has no example among ONNX's test cases.
* f, bf, i, u, c stand for float, bfloat, int, uint, complex; `–` after an opset means: up to the newest.
"""


def render(rows: Sequence[OpRow]) -> str:
    """The page."""
    parts = [_HEAD]
    domains = sorted({row.domain for row in rows if row.by})
    for domain in domains:
        parts.append(f"\n## {domain or 'ai.onnx'}\n")
        parts.append("| op | opsets | becomes | fast | partly | plain |\n|---|---|---|---|---|---|")
        parts += [_line(row) for row in rows if row.domain == domain and row.by]
    missing = [row for row in rows if not row.by]
    parts.append("\n## Not supported\n")
    for domain in sorted({row.domain for row in missing}):
        parts.append(f"* {domain or 'ai.onnx'}: " + ", ".join(f"`{row.op}`" for row in missing if row.domain == domain))
    return "\n".join(parts) + "\n"


def _line(row: OpRow) -> str:
    becomes = "its function body"
    if row.by != "function":
        becomes = ", ".join(f"`{op}`" for op in row.becomes[:_MOST_SHOWN]) + (" …" if len(row.becomes) > _MOST_SHOWN else "")
    return f"| {row.op} | {row.opsets} | {becomes} | {' '.join(row.fast)} | {' '.join(row.partly)} | {' '.join(row.plain)} |"
