"""The results as Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from side_by_side.race import WRONG, Row
from side_by_side.runtimes import RUNTIMES

Results = Mapping[str, Sequence[Row]]
"""By model."""


def speed(results: Results, threads: int) -> str:
    """Milliseconds of a run, and Jitney's ratio to the fastest peer."""
    names = _names(results)
    lines = head([f"ms, {count(threads)}", *(RUNTIMES[name].title for name in names), "Jitney to the fastest peer"])
    ratios = []
    for model, rows in results.items():
        by_name = {row.runtime: row for row in rows}
        ratio = by_name["jitney"].ratio if "jitney" in by_name else None
        if ratio is not None:
            ratios.append(ratio)
        cells = [_time(by_name[name]) for name in names]
        lines.append(line([model, *cells, "–" if ratio is None else f"{ratio:.2f}"]))
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines.append(line(["geometric mean", *("" for _ in names), f"**{mean:.2f}**"]))
    return "\n".join(lines)


def costs(results: Results, threads: int) -> str:
    """Loading, with files out of memory and in it, and memory."""
    names = _names(results)
    lines = head([f"first load / second load, ms; memory, MB; {count(threads)}", *(RUNTIMES[name].title for name in names)])
    for model, rows in results.items():
        by_name = {row.runtime: row for row in rows}
        lines.append(line([model, *(_cost(by_name[name]) for name in names)]))
    return "\n".join(lines)


def failures(results: Results) -> list[str]:
    """What is missing from the tables, and why."""
    lines = []
    for model, rows in results.items():
        for row in rows:
            if row.error:
                lines.append(f"{model}: {RUNTIMES[row.runtime].title}: {row.error}")
            elif row.difference > WRONG:
                lines.append(
                    f"{model}: {RUNTIMES[row.runtime].title}: results differ by {row.difference:.1e}; not counted as a peer"
                )
    return lines


def _names(results: Results) -> list[str]:
    return list(dict.fromkeys(row.runtime for rows in results.values() for row in rows))


def _time(row: Row) -> str:
    if row.error:
        return "–"
    return f"({row.ms:.2f})" if row.difference > WRONG else f"{row.ms:.2f}"


def _cost(row: Row) -> str:
    return "–" if row.error else f"{row.first_load_ms:.0f} / {row.second_load_ms:.0f}; {row.memory_mb:.0f}"


def count(threads: int) -> str:
    """`1 thread`, `2 threads`."""
    return f"{threads} thread{'' if threads == 1 else 's'}"


def head(cells: Sequence[str]) -> list[str]:
    """A table's first two lines; all columns but the first hold figures."""
    return [line(cells), "|---|" + "---:|" * (len(cells) - 1)]


def line(cells: Sequence[str]) -> str:
    """A table's row."""
    return "| " + " | ".join(cells) + " |"
