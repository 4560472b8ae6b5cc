"""`python -m jitney.converter.operators REPOSITORY` writes the table and the page."""

from __future__ import annotations

import sys
from pathlib import Path

from . import registered_ops, render, table_text
from .probe import probe
from .table import TABLE


def main(repository: Path) -> None:
    """Probes all ops and writes what was found."""
    rows = probe(registered_ops())
    (repository / "python" / "jitney" / TABLE).write_text(table_text(rows), encoding="utf-8")
    (repository / "docs" / "operators.md").write_text(render(rows), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
