"""One runtime in a process of its own: converts, or loads and then runs as often as it is told.

python -m side_by_side.worker convert|run RUNTIME TASK.json INPUTS.npz; talks in lines of JSON on stdin and stdout.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path

import numpy as np

from side_by_side.runtimes import RUNTIMES, Task


def _task(description: str, inputs: str) -> Task:
    data = json.loads(Path(description).read_text(encoding="utf-8"))
    with np.load(inputs) as file:
        feeds = {name: file[name] for name in file.files}
    return Task(Path(data["model"]), Path(data["converted"]), feeds, data["outputs"], data["threads"])


def _megabytes(field: str) -> float:
    """VmRSS (now) or VmHWM (at most so far) of this process."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _serve(name: str, task: Task, results: str) -> None:
    """Says how long loading and the first run took, then answers each number on stdin with the times of so many runs."""
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # some runtimes print to stdout

    def say(**what: object) -> None:
        channel.write(json.dumps(what) + "\n")

    runtime = RUNTIMES[name]
    before = _megabytes("VmRSS")
    try:
        importlib.import_module(runtime.module)
        start = time.perf_counter()
        run = runtime.load(task)
        first = run()
        loaded = (time.perf_counter() - start) * 1e3
        np.savez(results, *[np.asarray(array) for array in first])
    except BaseException as error:  # a runtime's failure is a row of the table
        say(error=f"{type(error).__name__}: {error}"[:300])
        return
    say(load_ms=loaded, memory_mb=_megabytes("VmHWM") - before)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) * 1e3)
        say(times=times, memory_mb=_megabytes("VmHWM") - before)


def main() -> None:
    """Entry point."""
    what, name, description, inputs, *rest = sys.argv[1:]
    task = _task(description, inputs)
    if what == "convert":
        convert = RUNTIMES[name].convert
        try:
            if convert is not None:
                convert(task)
        except Exception as error:  # the last line of what this process says is what the table's reader sees
            sys.exit(" ".join(f"{type(error).__name__}: {error}".split()))
    else:
        _serve(name, task, rest[0])


if __name__ == "__main__":
    main()
