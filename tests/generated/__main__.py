"""python -m tests.generated --cases 20000 --seed 1: draws cases, judges them, and prints a table by op."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from .rules import RULES
from .workers import Judged, Task, run_all

COLUMNS = ["agree", "unsupported", "no reference", "disputed", "wrong", "crash", "hang"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.generated", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ops", help="names of ops, with commas between; without chains")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--failures", type=Path, help="writes what failed there, as lines of JSON that --replay takes")
    parser.add_argument("--replay", type=Path, help="judges the cases of this file instead of drawing some")
    parser.add_argument("--show", default="wrong,crash,hang", help="outcomes to print in full")
    options = parser.parse_args()
    ops = options.ops.split(",") if options.ops else None
    unknown = sorted(set(ops or []) - set(RULES))
    if unknown:
        parser.error(f"there is no rule for {', '.join(unknown)}")
    if options.replay:
        tasks = [Task(json=line) for line in options.replay.read_text().splitlines() if line.strip()]
    else:
        tasks = [Task(f"{options.seed}/{number}", ops) for number in range(options.cases)]
    start = time.monotonic()
    table: dict[str, Counter[str]] = defaultdict(Counter)
    failures: list[Judged] = []
    for judged in run_all(tasks, options.jobs):
        outcome = judged.verdict.outcome
        table[judged.title if "+" not in judged.title else "(chains)"][outcome] += 1
        if outcome in options.show.split(","):
            failures.append(judged)
            print(
                f"{outcome} {judged.title} [{judged.task.seed}] {judged.verdict.reason[:400]}\n    {judged.json[:1500]}",
                flush=True,
            )
    if options.failures:
        options.failures.write_text("".join(f"{judged.json}\n" for judged in failures))
    _print(table)
    print(f"{sum(map(sum, (row.values() for row in table.values())))} cases in {time.monotonic() - start:.0f} s")
    total = sum(table.values(), Counter())
    return 1 if total["wrong"] + total["crash"] + total["hang"] else 0


def _print(table: dict[str, Counter[str]]) -> None:
    print(f"{'op':28}{'cases':>7}" + "".join(f"{column:>14}" for column in COLUMNS))
    for op, row in [*sorted(table.items()), ("all", sum(table.values(), Counter()))]:
        print(f"{op:28}{sum(row.values()):7}" + "".join(f"{row[column] or '':>14}" for column in COLUMNS))


if __name__ == "__main__":
    sys.exit(main())
