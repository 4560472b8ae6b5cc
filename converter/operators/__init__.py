"""Which ONNX ops can be converted, in which opsets, and with which dtypes they run: found out, not written down.

`python -m jitney.converter.operators REPOSITORY` writes docs/operators.md and the package's own table, which `jitney info --ops`
shows. Ops and opsets follow from the registrations; dtypes from converting and running one node for each.
"""

from __future__ import annotations

from . import probe
from .page import render
from .registered import registered_ops
from .table import OpRow, read_table, table_text

__all__ = ["OpRow", "probe", "read_table", "registered_ops", "render", "table_text"]
