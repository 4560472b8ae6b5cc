"""The harness's command line: progress on stderr, tables on stdout, all figures as JSON if asked for."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from side_by_side import models, tables
from side_by_side.machine import machine
from side_by_side.race import Row, race
from side_by_side.runtimes import RUNTIMES


def main() -> int:
    """0 if Jitney ran all models."""
    parser = argparse.ArgumentParser(prog="side_by_side", description="Measures Jitney beside other runtimes.")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"names or ONNX files; default: {' '.join(models.NAMES)}")
    parser.add_argument(
        "--runtimes", default=",".join(RUNTIMES), help=f"default: {','.join(RUNTIMES)}; the first is the reference"
    )
    parser.add_argument("--threads", default="1", metavar="N,N,…", help="thread counts, one table each")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=D0,D1,…", help="for ONNX files with open sizes")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/jitney/bench", help="where converted models lie")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    arguments = parser.parse_args()
    runtimes = arguments.runtimes.split(",")
    if unknown := [name for name in runtimes if name not in RUNTIMES]:
        parser.error(f"unknown runtimes: {', '.join(unknown)}")
    try:
        threads = [int(count) for count in arguments.threads.replace(" ", ",").split(",") if count]
        shapes = {name: tuple(map(int, dims.split(","))) for name, _, dims in (text.rpartition("=") for text in arguments.shape)}
    except ValueError:
        parser.error("--threads wants numbers, --shape NAME=1,3,224,224")
    found: dict[int, dict[str, list[Row]]] = {count: {} for count in threads}
    for name in arguments.models or models.NAMES:
        try:
            model = models.find(name, arguments.cache, shapes)
        except (OSError, RuntimeError) as error:
            print(f"side_by_side: {error}", file=sys.stderr)
            return 1
        for count in threads:
            print(f"{model.name}, {count} threads …", file=sys.stderr, flush=True)
            found[count][model.name] = race(model, runtimes, count, arguments.rounds, arguments.cache)
    _print(found)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(_as_dict(found, runtimes, arguments.rounds), indent=1) + "\n", encoding="utf-8")
    rows = [row for results in found.values() for rows in results.values() for row in rows]
    return int(any(row.error for row in rows if row.runtime == "jitney"))


def _print(found: dict[int, dict[str, list[Row]]]) -> None:
    for count, results in found.items():
        print(tables.speed(results, count), "\n")
    for count, results in list(found.items())[:1]:
        print(tables.costs(results, count))
    for line in dict.fromkeys(line for results in found.values() for line in tables.failures(results)):
        print(f"side_by_side: {line}", file=sys.stderr)


def _as_dict(found: dict[int, dict[str, list[Row]]], runtimes: list[str], rounds: int) -> dict[str, object]:
    return {
        "machine": machine(),
        "versions": {name: RUNTIMES[name].version() for name in runtimes},
        "rounds": rounds,
        "results": [
            {"model": model, "threads": count, "rows": [asdict(row) for row in rows]}
            for count, results in found.items()
            for model, rows in results.items()
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
