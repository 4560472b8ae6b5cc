"""`jitney bench`: how long a run takes."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from jitney.cli import console
from jitney.cli.images import ImageOptions
from jitney.cli.options import Backend, Json, ModelPath, ShapeList, Threads, parse_shapes
from jitney.cli.tensors import read_inputs
from jitney.dtypes import numpy_dtype
from jitney.errors import InvalidInput
from jitney.model import TensorInfo
from jitney.session import Session

_MOST_ELEMENTS = 2**58


def command(
    model: ModelPath,
    threads: Threads = 0,
    shape: ShapeList = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input", "-i", metavar="NAME=FILE", help="Real values for an input, else random ones.", show_default=False
        ),
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Runs to measure.")] = 30,
    warmup: Annotated[int, typer.Option("--warmup", min=0, help="Runs before measuring.")] = 3,
    backend: Backend = "auto",
    json: Json = False,
) -> None:
    """Measure the time of a run."""
    with Session(model, backend=backend, threads=threads) as session:
        fed = read_inputs(inputs or (), session.inputs, ImageOptions())
        shapes = parse_shapes(shape, session.inputs)
        kept = {before for before, _ in session.model.states}
        for info in session.inputs:
            if info.name not in fed and info.name not in kept:
                fed[info.name] = _random(info, shapes.get(info.name))
            elif info.name in fed and info.name in shapes:
                raise InvalidInput(f"input '{info.name}' has both --input and --shape")
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


def _random(info: TensorInfo, shape: tuple[int, ...] | None) -> npt.NDArray[Any]:
    """Normal numbers for floats; zeros for the rest, which every consumer of indices allows."""
    if shape is None:
        if info.shape is None or not all(isinstance(dim, int) for dim in info.shape):
            dims = "…" if info.shape is None else ",".join(map(str, info.shape))
            raise InvalidInput(
                f"input '{info}' has open sizes", hint=f"add --shape {info.name}={dims} with numbers in place of names"
            )
        shape = tuple(dim for dim in info.shape if isinstance(dim, int))
    if math.prod(shape) > _MOST_ELEMENTS:
        raise InvalidInput(f"--shape {info.name}={','.join(map(str, shape))} is more than any memory can hold")
    if "float" not in info.dtype:
        return np.zeros(shape, numpy_dtype(info.dtype))
    return np.random.default_rng(0).standard_normal(shape, np.float32).astype(numpy_dtype(info.dtype))


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
