"""Measures the ways that a model's steps may be computed in, and keeps those that make the whole model faster."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from jitney.model import Model
from jitney.session import Session

Feeds = Mapping[str, npt.NDArray[Any]]
Progress = Callable[[str, float], None]

_WORTHWHILE = 0.97
"""A way must take at most so much of the time of the one that is taken anyway: less is within the noise of a measurement."""


@dataclass(frozen=True)
class WayTimes:
    """What was measured for one piece of work; milliseconds per run of the model, all its steps of that kind together."""

    work: str
    taken: str
    """The way that the backend takes by itself."""
    times: dict[str, float]

    @property
    def best(self) -> str:
        """The fastest way, unless it gains next to nothing."""
        fastest = min(self.times, key=self.times.__getitem__)
        return fastest if self.times[fastest] < _WORTHWHILE * self.times[self.taken] else self.taken


@dataclass(frozen=True)
class TuneResult:
    """All that was measured, the ways to follow, and what they bring: milliseconds per run (medians) without and with them."""

    works: tuple[WayTimes, ...]
    ways: dict[str, str]
    before_ms: float
    after_ms: float


def tune(model: Model, feeds: Feeds, *, threads: int = 0, rounds: int = 10, progress: Progress | None = None) -> TuneResult:
    """Times every way of every step in runs of the whole model, where caches are as they will be.

    The fastest ways are then run in turns with the backend's own choice; unless the model is faster with them, `ways` is empty.
    """
    report = progress or (lambda _text, _part: None)
    with Session(model, threads=threads, profile=True, tuning=None) as session:
        session.run(feeds)
        steps = session.take_profile().steps
    choices = {step.work: (step.way, step.ways) for step in steps if len(step.ways) > 1}
    most = max((len(ways) for _, ways in choices.values()), default=1)
    variants = [{work: ways[i % len(ways)] for work, (_, ways) in choices.items()} for i in range(most)]
    times = _time_ways(model, feeds, variants if choices else [], threads, rounds, report)
    works = tuple(WayTimes(work, way, times[work]) for work, (way, _) in sorted(choices.items()) if way in times.get(work, {}))
    wanted = {item.work: item.best for item in works if item.best != item.taken}
    before, after = _compare(model, feeds, wanted, threads, rounds, report)
    if not wanted or after >= before:
        return TuneResult(works, {}, before, before)
    return TuneResult(works, wanted, before, after)


def _time_ways(
    model: Model, feeds: Feeds, variants: list[dict[str, str]], threads: int, rounds: int, report: Progress
) -> dict[str, dict[str, float]]:
    """Milliseconds by work and way: the least of several runs, which take turns so that a slow spell of the machine hits all."""
    best: dict[str, dict[str, float]] = {}
    sessions = [Session(model, threads=threads, profile=True, tuning=variant) for variant in variants]
    try:
        for turn in range(rounds + 1):
            for session in sessions:
                session.run(feeds)
                for (work, way), spent in _spent(session).items():
                    known = best.setdefault(work, {})
                    if turn > 0:  # the first run packs weights
                        known[way] = min(spent, known.get(way, spent))
            report("measuring ways", (turn + 1) / (rounds + 1))
    finally:
        for session in sessions:
            session.close()
    return best


def _spent(session: Session) -> dict[tuple[str, str], float]:
    """Milliseconds by work and way since the last call."""
    profile = session.take_profile()
    spent: dict[tuple[str, str], float] = {}
    for event in profile.events:
        if event.step < 0:
            continue
        step = profile.steps[event.step]
        if step.work:
            key = (step.work, step.way)
            spent[key] = spent.get(key, 0.0) + (event.end - event.start) / 1e6
    return spent


def _compare(
    model: Model, feeds: Feeds, ways: Mapping[str, str], threads: int, rounds: int, report: Progress
) -> tuple[float, float]:
    """Median milliseconds of the whole model without and with these ways, run in turns."""
    times: tuple[list[float], list[float]] = ([], [])
    with Session(model, threads=threads, tuning=None) as plain, Session(model, threads=threads, tuning=ways) as tuned:
        for turn in range(2 * rounds + 1):
            for session, list_ in zip((plain, tuned), times):
                start = time.perf_counter()
                session.run(feeds)
                if turn > 0:
                    list_.append((time.perf_counter() - start) * 1e3)
            report("comparing", (turn + 1) / (2 * rounds + 1))
    return statistics.median(times[0]), statistics.median(times[1])
