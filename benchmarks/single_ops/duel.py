"""One case in both runtimes, in this process, in turns (A B A B …), so that a machine whose speed drifts hits both alike."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import onnx
from side_by_side.agreement import difference
from side_by_side.runtimes import RUNTIMES, Task

from single_ops.case import Case

PEER = "ort"
_TURN_SECONDS = 0.004
_LEAST_RUNS = 3
_REST_SECONDS = 0.02
"""Before each turn where there are several threads: those of the runtime before may still spin."""
_WRONG = 1e-3
"""Results that are farther apart than this are not the same."""


@dataclass
class Row:
    """Both runtimes' least times of a run; `error` says why there are none, or that results differ."""

    case: str
    threads: int
    jitney_us: float = 0.0
    ort_us: float = 0.0
    difference: float = 0.0
    error: str = ""

    @property
    def ratio(self) -> float | None:
        """Jitney's time to the other's; None where one failed or results differ."""
        return None if self.error else self.jitney_us / self.ort_us


def measure(name: str, case: Case, threads: int, rounds: int) -> Row:
    """Converts the case, runs it in turns, compares the results."""
    row = Row(name, threads)
    try:
        with tempfile.TemporaryDirectory() as folder:
            _measure(row, case, rounds, Path(folder))
    except Exception as error:  # a failure is a row of the table
        row.error = f"{type(error).__name__}: {error}"[:300]
    return row


def _measure(row: Row, case: Case, rounds: int, folder: Path) -> None:
    task = Task(folder / "case.onnx", folder / "case", case.feeds(), case.outputs, row.threads)
    onnx.save(case.model(), task.model)
    convert = RUNTIMES["jitney"].convert
    assert convert is not None
    convert(task)
    ours, theirs = RUNTIMES["jitney"].load(task), RUNTIMES[PEER].load(task)
    row.difference = max(difference(wanted, found) for wanted, found in zip(theirs(), ours()))
    least_ours = least_theirs = float("inf")
    for _ in range(rounds):
        least_ours = min(least_ours, _turn(ours, row.threads))
        least_theirs = min(least_theirs, _turn(theirs, row.threads))
    row.jitney_us, row.ort_us = least_ours * 1e6, least_theirs * 1e6
    if row.difference > _WRONG:
        row.error = f"results differ by {row.difference:.1e}"


def _turn(run: Callable[[], object], threads: int) -> float:
    """The least of some runs, in seconds."""
    if threads > 1:
        time.sleep(_REST_SECONDS)
    least, runs, begin = float("inf"), 0, time.perf_counter()
    while True:
        start = time.perf_counter()
        run()
        end = time.perf_counter()
        least, runs = min(least, end - start), runs + 1
        if runs >= _LEAST_RUNS and end - begin >= _TURN_SECONDS:
            return least
