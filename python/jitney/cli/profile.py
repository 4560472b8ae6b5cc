"""`jitney profile`: where a run's time goes, step by step, beside what the machine can do."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import numpy.typing as npt
import typer

from jitney.cli import console
from jitney.cli.feeds import RealInputs, feeds_for
from jitney.cli.files import write_text
from jitney.cli.options import Backend, Json, ModelPath, Prefer, ShapeList, Threads
from jitney.profiling import Machine, Measured, StepTimes, measure_machine, summarise, to_chrome_trace, to_html
from jitney.reports import PlanReport, Profile
from jitney.session import Session


class Sort(str, Enum):
    """Columns that rows can be sorted by."""

    order = "order"
    time = "time"
    flops = "flops"
    speed = "speed"
    bytes = "bytes"


_KEYS: dict[Sort, Callable[[StepTimes], float]] = {
    Sort.order: lambda _: 0,
    Sort.time: lambda step: -step.median,
    Sort.flops: lambda step: -step.flops,
    Sort.speed: lambda step: -step.flops_per_second,
    Sort.bytes: lambda step: -step.bytes,
}
_WARM_UP = 3


def command(
    model: ModelPath,
    threads: Threads = 0,
    shape: ShapeList = None,
    inputs: RealInputs = None,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Runs to measure.")] = 20,
    sort: Annotated[Sort, typer.Option("--sort", help="How to order the steps; by order they stand as they run.")] = Sort.time,
    top: Annotated[int, typer.Option("--top", min=0, help="Show so many steps; 0: all.")] = 0,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page with timeline and memory plan.", show_default=False),
    ] = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="Write a trace for ui.perfetto.dev.", show_default=False)
    ] = None,
    backend: Backend = "auto",
    prefer: Prefer = "memory",
    json: Json = False,
) -> None:
    """Show where a run's time goes: each step's time, arithmetic and bytes, beside what this machine can do."""
    with Session(model, backend=backend, threads=threads, prefer=prefer, profile=True) as session:
        fed = feeds_for(session, inputs, shape)
        report = session.backend_report
        profile = _run(session, fed, runs)
        plan = session.plan_report({name: array.shape for name, array in fed.items()})
    machine = measure_machine(report.threads)
    measured = summarise(profile, report.threads)
    shown = ", ".join(f"{name}={list(array.shape)}" for name, array in fed.items())
    facts = {"model": str(model), "inputs": shown, "backend": f"{report.backend}, {report.isa}", "threads": str(report.threads)}
    if html is not None:
        write_text(html, to_html(model.name, facts, measured, machine, plan))
    if trace is not None:
        write_text(trace, to_chrome_trace(profile, model.name))
    for path in (html, trace):
        if path is not None:
            console.note(f"wrote {path}")
    steps = sorted(measured.steps, key=_KEYS[sort])
    steps = steps[:top] if top else steps
    if json:
        shapes = {name: list(array.shape) for name, array in fed.items()}
        head = {"model": str(model), "backend": report.backend, "isa": report.isa, "threads": report.threads, "shapes": shapes}
        console.emit_json(head | _as_dict(measured, machine, plan, steps))
        return
    console.line(f"{model} {shown}: {report.backend}, {report.isa}, {report.threads} threads, {runs} runs")
    _show(measured, machine, steps)


def _run(session: Session, fed: Mapping[str, npt.NDArray[Any]], runs: int) -> Profile:
    with console.progress() as bar:
        for turn in range(_WARM_UP + runs):
            if turn == _WARM_UP:
                session.take_profile()
            session.run(fed)
            bar("measuring" if turn >= _WARM_UP else "warm-up", (turn + 1) / (_WARM_UP + runs))
    profile = session.take_profile()
    if profile.dropped:
        console.note(f"{profile.dropped} events did not fit into memory and are missing; take fewer --runs")
    return profile


def _show(measured: Measured, machine: Machine, steps: Sequence[StepTimes]) -> None:
    whole = measured.total + measured.between
    console.table(
        (
            "ms>",
            "least>",
            "%>",
            "MFLOP>",
            "GFLOP/s>",
            "% peak>",
            "MB>",
            "GB/s>",
            "% mem>",
            "% busy>",
            "op",
            "kernel",
            "outputs",
            "node",
        ),
        [
            (
                f"{step.median / 1e6:.3f}",
                f"{step.least / 1e6:.3f}",
                f"{100 * step.median / max(whole, 1):.1f}",
                f"{step.flops / 1e6:.2f}",
                f"{step.flops_per_second / 1e9:.1f}",
                f"{100 * step.flops_per_second / machine.flops_per_second:.0f}",
                f"{step.bytes / 1e6:.2f}",
                f"{step.bytes_per_second / 1e9:.1f}",
                f"{100 * step.bytes_per_second / machine.bytes_per_second:.0f}",
                f"{100 * step.busy:.0f}",
                ("  " if step.inside_loop else "") + step.report.op + (f" ×{step.calls}" if step.calls > 1 else ""),
                step.report.kernel,
                " ".join(str(list(shape)) for shape in step.report.outputs),
                step.report.node,
            )
            for step in steps
        ],
    )
    console.line(f"between the steps: {measured.between / 1e6:.3f} ms")
    flops, least = sum(step.flops for step in measured.steps), min(measured.run_times)
    console.line(
        f"a run: {statistics.median(measured.run_times) / 1e6:.3f} ms, at least {least / 1e6:.3f} ms; "
        f"{flops / 1e9:.3f} GFLOP, {flops / least:.1f} GFLOP/s, "
        f"{100e9 * flops / least / machine.flops_per_second:.0f}% of the peak"
    )
    console.line(
        f"this machine, {machine.threads} threads: {machine.flops_per_second / 1e9:.1f} GFLOP/s of float32 multiply-adds, "
        f"{machine.bytes_per_second / 1e9:.1f} GB/s from memory"
    )


def _as_dict(measured: Measured, machine: Machine, plan: PlanReport, steps: Sequence[StepTimes]) -> dict[str, Any]:
    """All times in nanoseconds per run."""
    flops = sum(step.flops for step in measured.steps)
    return {
        "runs": len(measured.run_times),
        "median_ns": statistics.median(measured.run_times),
        "least_ns": min(measured.run_times),
        "between_steps_ns": measured.between,
        "flops": flops,
        "peak_flops_per_second": machine.flops_per_second,
        "peak_bytes_per_second": machine.bytes_per_second,
        "arena_bytes": plan.memory.arena_bytes,
        "lower_bound_bytes": plan.memory.lower_bound_bytes,
        "steps": [
            {
                "node": step.report.node,
                "op": step.report.op,
                "kernel": step.report.kernel,
                "why": step.report.why,
                "outputs": [list(shape) for shape in step.report.outputs],
                "median_ns": step.median,
                "least_ns": step.least,
                "share": step.median / max(measured.total + measured.between, 1),
                "calls": step.calls,
                "inside_loop": step.inside_loop,
                "busy": step.busy,
                "flops": step.flops,
                "flops_per_second": step.flops_per_second,
                "of_peak": step.flops_per_second / machine.flops_per_second,
                "bytes": step.bytes,
                "bytes_per_second": step.bytes_per_second,
                "of_memory": step.bytes_per_second / machine.bytes_per_second,
            }
            for step in steps
        ],
    }
