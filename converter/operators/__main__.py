"""`python -m jitney.converter.operators REPOSITORY` writes the table and the page; with --check it says if they are stale."""

from __future__ import annotations

import sys
from pathlib import Path

from . import registered_ops, render, table_text
from .probe import probe
from .table import TABLE


def main(repository: Path, check: bool) -> int:
    """Probes all ops and writes, or compares, what was found."""
    rows = probe(registered_ops())
    texts = {repository / "python" / "jitney" / TABLE: table_text(rows), repository / "docs" / "operators.md": render(rows)}
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if check:
            print(f"{path} is out of date: make operators")
        else:
            path.write_text(texts[path], encoding="utf-8")
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), "--check" in sys.argv[2:]))
