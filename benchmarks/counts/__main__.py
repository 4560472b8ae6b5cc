"""The counting gates' command line. Builds nothing but the plugin: `make counts` does the rest."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from counts import callgrind, emulated, loops
from counts.baseline import TOLERANCE, Measurement, compare, store
from counts.networks import NETWORKS
from counts.tools import CountingError

_ROOT = Path(__file__).resolve().parents[2]
_GATES = ("callgrind", "emulated", "loops")


def _convert(folder: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """Writes the networks; says which kernels run them at the level that valgrind knows."""
    os.environ["JITNEY_ISA"] = callgrind.LEVEL
    import jitney

    folder.mkdir(parents=True, exist_ok=True)
    paths, kernels = {}, {}
    for name, build in NETWORKS.items():
        paths[name] = folder / f"{name}.jny"
        jitney.convert(build().SerializeToString(), paths[name], verify=False)
        with jitney.Session(paths[name], threads=1) as session:
            kernels[name] = " ".join(dict.fromkeys(step.kernel for step in session.plan_report().steps))
    return paths, kernels


def _gates(arguments: argparse.Namespace) -> Mapping[str, Callable[[], Measurement]]:
    wanted = arguments.only.split(",") if arguments.only else _GATES
    if unknown := set(wanted) - set(_GATES):
        raise CountingError(f"there is no gate {', '.join(sorted(unknown))}; there are: {', '.join(_GATES)}")
    models: dict[str, Path] = {}
    kernels: dict[str, str] = {}
    if set(wanted) & {"callgrind", "emulated"}:
        models, kernels = _convert(arguments.build / "counts")
    every: dict[str, Callable[[], Measurement]] = {
        "callgrind": lambda: replace(callgrind.count(arguments.native, models, arguments.jobs), notes=kernels),
        "emulated": lambda: emulated.count(arguments.arm, models, arguments.jobs),
        "loops": lambda: loops.count(_ROOT / "cpp/src", arguments.jobs),
    }
    return {name: every[name] for name in wanted}


def main() -> int:
    """0 if all counts are as they were."""
    parser = argparse.ArgumentParser(prog="counts", description="Counts instructions and cycles, and compares them with before.")
    parser.add_argument("--update", action="store_true", help="store what is found as the new baseline")
    parser.add_argument("--only", default="", metavar="GATES", help=f"some of {','.join(_GATES)}")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time")
    parser.add_argument("--build", type=Path, default=_ROOT / "build", help="where networks are written")
    parser.add_argument("--native", type=Path, default=_ROOT / "build/dev/benchmarks/counts/count_run")
    parser.add_argument("--arm", type=Path, default=_ROOT / "build/aarch64/benchmarks/counts/count_run")
    arguments = parser.parse_args()
    faults: list[str] = []
    try:
        for name, gate in _gates(arguments).items():
            start = time.monotonic()
            found = gate()
            problems = compare(found)
            print(f"{name}: {len(found.counts)} cases in {time.monotonic() - start:.0f} s", file=sys.stderr)
            for problem in problems:
                print(f"  {problem}")
            if arguments.update:
                store(found)
            faults += problems
    except CountingError as error:
        print(f"counts: {error}", file=sys.stderr)
        return 2
    if not faults or arguments.update:
        return 0
    print(
        f"{len(faults)} counts differ by more than {TOLERANCE:.0%}. If that is meant: make counts-update, and commit the files."
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
