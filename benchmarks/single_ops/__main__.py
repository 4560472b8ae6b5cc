"""The command line: rows of Markdown on stdout as they are measured, failures on stderr, all figures as JSON if asked for."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from side_by_side import tables
from side_by_side.machine import machine
from side_by_side.runtimes import RUNTIMES

from single_ops.duel import PEER, Row, measure
from single_ops.families import chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if both ran all cases, with the same results."""
    parser = argparse.ArgumentParser(prog="single_ops", description="Measures single operators beside ONNX Runtime.")
    parser.add_argument("pattern", nargs="?", default="", metavar="REGEX", help="only cases in whose names it is found")
    parser.add_argument("--threads", default="1", metavar="N,N,…", help="thread counts, one table each")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--list", action="store_true", help="print the names and measure nothing")
    options = parser.parse_args(arguments)
    try:
        cases = chosen(options.pattern)
        threads = [int(count) for count in options.threads.replace(" ", ",").split(",") if count]
    except re.error as error:
        parser.error(f"no regular expression: {options.pattern}: {error}")
    except ValueError:
        parser.error("--threads wants numbers")
    if not cases:
        parser.error(f"no case is called {options.pattern}; --list names all")
    if options.list:
        print("\n".join(cases))
        return 0
    rows = []
    for count in threads:
        head = [f"µs, {tables.count(count)}", "Jitney", RUNTIMES[PEER].title, "ratio"]
        print("\n".join(tables.head(head)), flush=True)
        found = [_shown(measure(name, case, count, options.rounds)) for name, case in cases.items()]
        print(_mean(found) + "\n", flush=True)
        rows += found
    if options.json is not None:
        options.json.write_text(json.dumps(_as_dict(rows, options.rounds), indent=1) + "\n", encoding="utf-8")
    return int(any(row.error for row in rows))


def _shown(row: Row) -> Row:
    """Prints it."""
    ratio = "–" if row.ratio is None else f"{row.ratio:.2f}"
    print(tables.line([row.case, _time(row.jitney_us), _time(row.ort_us), ratio]), flush=True)
    if row.error:
        print(f"single_ops: {row.case}: {row.error}", file=sys.stderr)
    return row


def _time(microseconds: float) -> str:
    return f"{microseconds:.1f}" if microseconds else "–"


def _mean(rows: Sequence[Row]) -> str:
    ratios = [row.ratio for row in rows if row.ratio is not None]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
    return tables.line([f"geometric mean of {len(ratios)}", "", "", f"**{mean:.2f}**"])


def _as_dict(rows: Sequence[Row], rounds: int) -> dict[str, object]:
    return {
        "machine": machine(),
        "versions": {name: RUNTIMES[name].version() for name in ("jitney", PEER)},
        "rounds": rounds,
        "results": [{**asdict(row), "ratio": row.ratio} for row in rows],
    }


if __name__ == "__main__":
    sys.exit(main())
