"""Measures the ways that a model's steps may be computed in, and keeps those that make the whole model faster."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy.typing as npt

from jitney.model import Model
from jitney.reports import StepReport
from jitney.session import Session

Feeds = Mapping[str, npt.NDArray[Any]]
Progress = Callable[[str, float], None]

_TOGETHER, _APART = {"chains": "together"}, {"chains": "apart"}
"""Ways that ask for every chain of steps as one step, where that is possible at all, and for none."""

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

    The fastest ways are then run in turns with the backend's own choice; unless both the median and the least of their
    times are lower, `ways` is empty.
    """
    report = progress or (lambda _text, _part: None)
    chosen, together, apart = (_steps(model, feeds, threads, ways) for ways in (None, _TOGETHER, _APART))
    chains = _chains(together, apart)
    choices = {step.work: (step.way, step.ways) for step in apart if len(step.ways) > 1}
    most = max((len(ways) for _, ways in choices.values()), default=1)
    variants = [{**_APART, **{work: ways[i % len(ways)] for work, (_, ways) in choices.items()}} for i in range(most)]
    if chains:
        variants.append(dict(_TOGETHER))
    times = _time_ways(model, feeds, variants if choices or chains else [], chains, threads, rounds, report)
    taken = dict.fromkeys(chains.values(), "apart")
    taken |= {step.work: step.way for step in (*apart, *chosen) if len(step.ways) > 1}
    works = tuple(WayTimes(work, way, times[work]) for work, way in sorted(taken.items()) if way in times.get(work, {}))
    wanted = {item.work: item.best for item in works if item.best != item.taken}
    before, after = _compare(model, feeds, wanted, threads, rounds, report)
    gains = wanted and statistics.median(after) < statistics.median(before) and min(after) < min(before)
    if not gains:
        return TuneResult(works, {}, statistics.median(before), statistics.median(before))
    return TuneResult(works, wanted, statistics.median(before), statistics.median(after))


def _steps(model: Model, feeds: Feeds, threads: int, ways: Mapping[str, str] | None) -> tuple[StepReport, ...]:
    with Session(model, threads=threads, profile=True, tuning=ways) as session:
        session.run(feeds)
        return session.take_profile().steps


def _chains(together: Sequence[StepReport], apart: Sequence[StepReport]) -> dict[tuple[str, str], str]:
    """What is one step or two: its work by the names of the two steps."""
    works = {step.node: step.work for step in together if "together" in step.ways}
    pairs = [(first.node, second.node) for first, second in pairwise(apart)]
    return {pair: works["+".join(pair)] for pair in pairs if all(pair) and "+".join(pair) in works}


def _time_ways(
    model: Model,
    feeds: Feeds,
    variants: list[dict[str, str]],
    chains: Mapping[tuple[str, str], str],
    threads: int,
    rounds: int,
    report: Progress,
) -> dict[str, dict[str, float]]:
    """Milliseconds by work and way: the least of several runs, which take turns so that a slow spell of the machine hits all."""
    best: dict[str, dict[str, float]] = {}
    sessions = [Session(model, threads=threads, profile=True, tuning=variant) for variant in variants]
    try:
        for turn in range(rounds + 1):
            for session in sessions:
                session.run(feeds)
                for (work, way), spent in _spent(session, chains).items():
                    known = best.setdefault(work, {})
                    if turn > 0:  # the first run packs weights
                        known[way] = min(spent, known.get(way, spent))
            report("measuring ways", (turn + 1) / (rounds + 1))
    finally:
        for session in sessions:
            session.close()
    return best


def _spent(session: Session, chains: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], float]:
    """Milliseconds by work and way since the last call."""
    profile = session.take_profile()
    links: dict[int, list[str]] = {}
    for index, pair in enumerate(pairwise(profile.steps)):
        if work := chains.get((pair[0].node, pair[1].node)):
            links.setdefault(index, []).append(work)
            links.setdefault(index + 1, []).append(work)
    spent: dict[tuple[str, str], float] = {}
    for event in profile.events:
        if event.step < 0:
            continue
        step = profile.steps[event.step]
        keys = [(step.work, step.way)] if step.work else []
        keys += [(work, "apart") for work in links.get(event.step, ())]
        for key in keys:
            spent[key] = spent.get(key, 0.0) + (event.end - event.start) / 1e6
    return spent


def _compare(
    model: Model, feeds: Feeds, ways: Mapping[str, str], threads: int, rounds: int, report: Progress
) -> tuple[list[float], list[float]]:
    """Milliseconds of runs of the whole model without and with these ways, run in turns."""
    times: tuple[list[float], list[float]] = ([], [])
    with Session(model, threads=threads, tuning=None) as plain, Session(model, threads=threads, tuning=ways) as tuned:
        for turn in range(2 * rounds + 1):
            for session, list_ in zip((plain, tuned), times):
                start = time.perf_counter()
                session.run(feeds)
                if turn > 0:
                    list_.append((time.perf_counter() - start) * 1e3)
            report("comparing", (turn + 1) / (2 * rounds + 1))
    return times
