"""`jitney tune`: measures which ways of computing are the fastest on this machine, and writes them down beside the model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from jitney.cli import console
from jitney.cli.feeds import RealInputs, feeds_for
from jitney.cli.files import write_text
from jitney.cli.options import Json, ModelPath, ShapeList, Threads
from jitney.model import Model
from jitney.session import Session
from jitney.tuner import tune
from jitney.tuning import SUFFIX, format_tuning


def command(
    model: ModelPath,
    threads: Threads = 0,
    shape: ShapeList = None,
    inputs: RealInputs = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write; beside the model if not given.", show_default=False)
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Runs of each way.")] = 10,
    json: Json = False,
) -> None:
    """Measure the ways that the model's steps can be computed in; sessions follow the file of the fastest.

    The file holds for this processor, instruction set and version of Jitney; elsewhere it is not followed.
    """
    opened = Model(model)
    with Session(opened, threads=threads, tuning=None) as session:
        fed = feeds_for(session, inputs, shape)
    with console.progress() as bar:
        result = tune(opened, fed, threads=threads, rounds=rounds, progress=bar)
    target = output or Path(os.fspath(model) + SUFFIX)
    # A model that gains nothing gets an empty list, which is followed at no cost.
    write_text(target, format_tuning(result.ways))
    if json:
        console.emit_json(
            {
                "model": str(model),
                "file": str(target),
                "before_ms": result.before_ms,
                "after_ms": result.after_ms,
                "ways": result.ways,
                "measured": [{"work": work.work, "taken": work.taken, "ms": work.times} for work in result.works],
            }
        )
        return
    console.table(
        ("work", "taken", "ms>", "fastest", "ms>"),
        [
            [work.work, work.taken, f"{work.times[work.taken]:.3f}", work.best, f"{work.times[work.best]:.3f}"]
            for work in result.works
        ],
    )
    if not result.works:
        console.line("no step of this model has more than one way here")
    elif not result.ways:
        console.line(f"{result.before_ms:.3f} ms per run; no other ways make the model faster")
    else:
        gain = 1 - result.after_ms / result.before_ms
        console.line(f"{result.before_ms:.3f} → {result.after_ms:.3f} ms per run ({gain:.1%} less): {target}")
