"""Turns the events that a session recorded into times per step."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from jitney import _core
from jitney.reports import Profile, ProfileEvent, StepReport, WorkerEvent


@dataclass(frozen=True)
class Machine:
    """What the machine does at most with so many threads, measured."""

    threads: int
    flops_per_second: float
    """float32 multiply-adds in registers, counting two."""
    bytes_per_second: float
    """Reads from more memory than caches hold."""


def measure_machine(threads: int) -> Machine:
    """Takes some 0.3 s, all cores that are asked for, and 128 MiB for that while."""
    return Machine(threads, *_core.machine_peak(threads))


@dataclass(frozen=True)
class StepTimes:
    """One step over all runs. Times are nanoseconds per run, what lies inside (a loop's body) not counted."""

    report: StepReport
    least: float
    median: float
    calls: int
    """Executions per run, in the run that took the median time."""
    inside_loop: bool
    busy: float = 1.0
    """How much of all threads' time was work in loops that were spread over them (the median over executions); where none was,
    the caller's part."""

    @property
    def flops(self) -> float:
        """Operations per run."""
        return self.report.flops * self.calls

    @property
    def bytes(self) -> int:
        """Of operands, per run."""
        return self.report.bytes * self.calls

    @property
    def flops_per_second(self) -> float:
        """At its fastest."""
        return 1e9 * self.flops / self.least if self.least else 0.0

    @property
    def bytes_per_second(self) -> float:
        """At its fastest."""
        return 1e9 * self.bytes / self.least if self.least else 0.0


@dataclass(frozen=True)
class Measured:
    """A model's runs, step by step in the order in which they first ran."""

    steps: tuple[StepTimes, ...]
    run_times: tuple[float, ...]
    """Nanoseconds of each run."""
    between: float
    """Nanoseconds of a run (the median) in which no step ran: planning, copies of inputs, the walk over the steps."""
    timeline: tuple[ProfileEvent, ...]
    """The run that took the median time, then its steps; `step` is an index into `steps`."""
    work: tuple[WorkerEvent, ...] = ()
    """What the threads did in that run."""

    @property
    def total(self) -> float:
        """The sum of the steps' medians."""
        return sum(step.median for step in self.steps)


def summarise(profile: Profile, threads: int = 1) -> Measured:
    """Times per step over all runs of the profile, which must be of one caller and one set of shapes."""
    runs = sorted((event for event in profile.events if event.step < 0), key=lambda event: event.start)
    steps = sorted((event for event in profile.events if event.step >= 0), key=lambda event: (event.start, -event.end))
    by_run = [_within(run, steps) for run in runs]
    order = list(dict.fromkeys(event.step for events in by_run for event in events))
    spent: dict[int, list[float]] = {step: [] for step in order}
    between: list[float] = []
    inner: set[int] = set()
    for run, events in zip(runs, by_run):
        own, nested, outermost = _own_times(events)
        inner |= nested
        between.append(run.end - run.start - outermost)
        for step in order:
            spent[step].append(own.get(step, 0.0))
    times = [float(run.end - run.start) for run in runs]
    typical = _median_index(times)
    calls = _counted(by_run[typical] if runs else ())
    position = {step: index for index, step in enumerate(order)}
    timeline = [runs[typical], *by_run[typical]] if runs else []
    busy = _busy_parts(steps, profile.work, threads)
    work = [event for event in profile.work if runs and runs[typical].start <= event.start and event.end <= runs[typical].end]
    return Measured(
        tuple(
            StepTimes(
                profile.steps[step],
                min(spent[step]),
                statistics.median(spent[step]),
                calls.get(step, 0),
                step in inner,
                busy.get(step, 1 / threads),
            )
            for step in order
        ),
        tuple(times),
        statistics.median(between) if between else 0.0,
        tuple(replace(event, step=position.get(event.step, -1)) for event in timeline),
        tuple(replace(event, step=position[event.step]) for event in work),
    )


def _busy_parts(steps: Sequence[ProfileEvent], work: Sequence[WorkerEvent], threads: int) -> dict[int, float]:
    """Of steps that were spread over threads: how much of all threads' time, from a step's start to its end, was work."""
    done: dict[tuple[int, int], int] = defaultdict(int)  # by step, and by the start of its execution
    starts: dict[tuple[int, int], list[ProfileEvent]] = defaultdict(list)
    for event in steps:
        starts[event.step, event.thread].append(event)
    keys = {key: [event.start for event in events] for key, events in starts.items()}
    for piece in work:
        key = (piece.step, piece.thread)
        index = bisect_right(keys.get(key, []), piece.start) - 1
        if index >= 0:
            done[piece.step, keys[key][index]] += piece.busy
    parts: dict[int, list[float]] = defaultdict(list)
    for (step, _), events in starts.items():
        for event in events:
            if (step, event.start) in done:
                parts[step].append(done[step, event.start] / max(1, (event.end - event.start) * threads))
    return {step: statistics.median(values) for step, values in parts.items()}


def _within(run: ProfileEvent, steps: Iterable[ProfileEvent]) -> list[ProfileEvent]:
    return [step for step in steps if step.thread == run.thread and run.start <= step.start and step.end <= run.end]


def _own_times(events: Sequence[ProfileEvent]) -> tuple[dict[int, float], set[int], float]:
    """Time per step without what lies inside others; which steps lie inside; and the time of those that do not."""
    own: dict[int, float] = defaultdict(float)
    nested: set[int] = set()
    outermost = 0.0
    enclosing: list[ProfileEvent] = []
    for event in events:
        while enclosing and enclosing[-1].end <= event.start:
            enclosing.pop()
        length = event.end - event.start
        own[event.step] += length
        if enclosing:
            own[enclosing[-1].step] -= length
            nested.add(event.step)
        else:
            outermost += length
        enclosing.append(event)
    return own, nested, outermost


def _median_index(times: Sequence[float]) -> int:
    return sorted(range(len(times)), key=lambda index: times[index])[len(times) // 2] if times else 0


def _counted(events: Iterable[ProfileEvent]) -> dict[int, int]:
    counts: dict[int, int] = defaultdict(int)
    for event in events:
        counts[event.step] += 1
    return counts
