"""`jitney bench`: how long a run takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from jitney.cli import console
from jitney.cli.feeds import RealInputs, feeds_for
from jitney.cli.options import Backend, Json, ModelPath, Prefer, ShapeList, Threads
from jitney.session import Session


def command(
    model: ModelPath,
    threads: Threads = 0,
    shape: ShapeList = None,
    inputs: RealInputs = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Runs to measure.")] = 30,
    warmup: Annotated[int, typer.Option("--warmup", min=0, help="Runs before measuring.")] = 3,
    backend: Backend = "auto",
    prefer: Prefer = "memory",
    json: Json = False,
) -> None:
    """Measure the time of a run."""
    with Session(model, backend=backend, threads=threads, prefer=prefer) as session:
        fed = feeds_for(session, inputs, shape)
        times = _measure(session, fed, warmup, rounds)
        report = session.backend_report
    data: dict[str, Any] = {
        "model": str(model),
        "backend": report.backend,
        "isa": report.isa,
        "threads": report.threads,
        "shapes": {name: list(array.shape) for name, array in fed.items()},
        "rounds": rounds,
        "median_ms": statistics.median(times),
        "min_ms": min(times),
        "p90_ms": _percentile(times, 90),
        "mean_ms": statistics.fmean(times),
    }
    if json:
        console.emit_json(data)
        return
    shown = ", ".join(f"{name}={list(array.shape)}" for name, array in fed.items())
    console.line(f"{model} {shown}: {report.backend}, {report.isa}, {report.threads} threads, {rounds} rounds")
    console.table(
        ("median ms>", "min ms>", "p90 ms>", "mean ms>"),
        [[f"{data[key]:.3f}" for key in ("median_ms", "min_ms", "p90_ms", "mean_ms")]],
    )


def _measure(session: Session, fed: dict[str, npt.NDArray[Any]], warmup: int, rounds: int) -> list[float]:
    times: list[float] = []
    with console.progress() as bar:
        for turn in range(warmup + rounds):
            start = time.perf_counter()
            session.run(fed)
            elapsed = time.perf_counter() - start
            bar("measuring" if turn >= warmup else "warm-up", (turn + 1) / (warmup + rounds))
            if turn >= warmup:
                times.append(elapsed * 1e3)
    return times


def _percentile(times: Sequence[float], percent: float) -> float:
    return float(np.percentile(np.asarray(times), percent))
