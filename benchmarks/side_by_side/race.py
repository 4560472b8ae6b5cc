"""Runs all runtimes on one model: processes of their own, rounds in turns (A B C A B C …), so that a machine whose speed drifts
hits all alike. A round's figure is its fastest run; the result is the median over rounds."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from side_by_side.agreement import largest_error
from side_by_side.models import Contestant
from side_by_side.runtimes import RUNTIMES, conversion_key

_ROUND_MS = 100.0
_REST_SECONDS = 0.02
"""Before each round: threads of the runtime before may still spin."""
_MOST_RUNS = 2000
_SECOND_LOADS = 5
"""A virtual machine that must get its memory anew takes several times as long once in a while."""
WRONG = 0.02
"""Runtimes whose results are farther from the first one's are no peers."""


@dataclass
class Row:
    """One runtime's figures; `error` says why there are none."""

    runtime: str
    error: str = ""
    ms: float = 0.0
    least_ms: float = 0.0
    first_load_ms: float = 0.0
    """Loading and the first run, with the model's files not in memory."""
    second_load_ms: float = 0.0
    """The same in new processes, with the files in memory; a median."""
    memory_mb: float = 0.0
    """The most resident memory, above a process with NumPy and the inputs."""
    difference: float = 0.0
    """From the first runtime's results."""
    ratio: float | None = None
    """To the fastest peer."""
    round_ms: list[float] = field(default_factory=list)


class _Worker:
    """A process with one runtime, ready to run."""

    def __init__(self, runtime: str, description: Path, inputs: Path, results: Path) -> None:
        command = [sys.executable, "-m", "side_by_side.worker", "run", runtime, str(description), str(inputs), str(results)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=_HOME
        )
        self.loaded = self._answer()

    def ask(self, runs: int) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{runs}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return {"error": "the process died"}
        return self._answer()

    def close(self) -> None:
        self._process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the process died"}
        return answer


_HOME = Path(__file__).resolve().parents[1]


def race(model: Contestant, runtimes: Sequence[str], threads: int, rounds: int, cache: Path) -> list[Row]:
    """A row for each runtime, in that order."""
    rows = [Row(name) for name in runtimes]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs = folder / "inputs.npz"
        np.savez(inputs, **model.feeds)  # type: ignore[arg-type]
        workers: dict[str, _Worker] = {}
        for row in rows:
            worker = _prepare(row, model, threads, folder, inputs, cache)
            if worker is not None:
                workers[row.runtime] = worker
        live = [row for row in rows if row.runtime in workers]
        _run_rounds(live, workers, rounds)
        for worker in workers.values():
            worker.close()
        finished = [row for row in live if not row.error]
        for row in finished:
            row.ms, row.least_ms = statistics.median(row.round_ms), min(row.round_ms)
            row.difference = largest_error(folder / f"{finished[0].runtime}.npz", folder / f"{row.runtime}.npz")
    _compare(finished)
    return rows


def _prepare(row: Row, model: Contestant, threads: int, folder: Path, inputs: Path, cache: Path) -> _Worker | None:
    """Converts, loads once with cold files, then several times more, the last time to stay."""
    runtime = RUNTIMES[row.runtime]
    if runtime.version() is None:
        row.error = "not installed"
        return None
    cache.mkdir(parents=True, exist_ok=True)
    converted = cache / conversion_key(runtime, model.path.read_bytes(), model.feeds)
    description, results = folder / f"{row.runtime}.json", folder / f"{row.runtime}.npz"
    task = {"model": str(model.path.resolve()), "converted": str(converted), "outputs": model.outputs, "threads": threads}
    description.write_text(json.dumps(task), encoding="utf-8")
    files = [Path(f"{converted}{suffix}") for suffix in runtime.files]
    if runtime.convert is not None and (row.runtime == "jitney" or not all(file.exists() for file in files)):
        command = [sys.executable, "-m", "side_by_side.worker", "convert", row.runtime, str(description), str(inputs)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=_HOME)
        if done.returncode != 0 or not all(file.exists() for file in files):
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            row.error = f"conversion failed: {said[-1][:200] if said else f'status {done.returncode}'}"
            return None
    _forget(files or [model.path])
    loads: list[float] = []
    for remaining in reversed(range(1 + _SECOND_LOADS)):
        worker = _Worker(row.runtime, description, inputs, results)
        if "error" in worker.loaded:
            row.error = worker.loaded["error"]
            worker.close()
            return None
        loads.append(worker.loaded["load_ms"])
        if remaining:
            worker.close()
    row.first_load_ms, row.second_load_ms = loads[0], statistics.median(loads[1:])
    row.memory_mb = worker.loaded["memory_mb"]
    return worker


def _forget(files: Sequence[Path]) -> None:
    """Asks the system to drop what it holds of these files in memory."""
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def _run_rounds(rows: Sequence[Row], workers: dict[str, _Worker], rounds: int) -> None:
    """The first round, which warms up, is not counted."""
    if not rows:
        return
    trial = workers[rows[0].runtime].ask(3)
    least = min(trial.get("times", [_ROUND_MS]))
    runs = min(_MOST_RUNS, max(2, int(_ROUND_MS / max(least, 1e-3))))
    for turn in range(rounds + 1):
        for row in rows:
            if row.error:
                continue
            time.sleep(_REST_SECONDS)
            answer = workers[row.runtime].ask(runs)
            if "error" in answer:
                row.error = answer["error"]
                continue
            row.memory_mb = answer["memory_mb"]
            if turn > 0:
                row.round_ms.append(min(answer["times"]))


def _compare(rows: Sequence[Row]) -> None:
    """Ratios to the fastest runtime that is not Jitney and whose results agree."""
    peers = [row.ms for row in rows if row.runtime != "jitney" and row.difference <= WRONG]
    for row in rows:
        row.ratio = row.ms / min(peers) if peers else None
