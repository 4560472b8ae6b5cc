"""Judges cases in processes of their own, so that a crash or a hang costs one case and is laid at the right door."""

from __future__ import annotations

import faulthandler
import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from .case import Case
from .draw import Reject
from .generate import case_of
from .judge import Verdict, judge

SECONDS = 60
_CONTEXT = multiprocessing.get_context("fork")


@dataclass
class Task:
    """A case to be judged: drawn from a seed, or given as JSON."""

    seed: str = ""
    ops: list[str] | None = None
    json: str = ""
    skip: list[str] = field(default_factory=list)

    def case(self) -> Case:
        return Case.from_json(self.json) if self.json else case_of(self.seed, self.ops)


@dataclass
class Judged:
    task: Task
    title: str
    json: str
    verdict: Verdict


def run_all(tasks: Sequence[Task], jobs: int) -> Iterator[Judged]:
    """The verdicts, in the order in which they come in."""
    shares = [list(tasks[start::jobs]) for start in range(jobs)]
    workers = [_Worker(share) for share in shares if share]
    while workers:
        ready = wait([worker.pipe for worker in workers], timeout=SECONDS)
        for worker in list(workers):
            yield from worker.read() if worker.pipe in ready else worker.stalled(not ready)
            if worker.done:
                workers.remove(worker)


class _Worker:
    """A process and what it last said."""

    def __init__(self, tasks: list[Task]) -> None:
        self._tasks = tasks
        self.done = False
        self._start()

    def _start(self) -> None:
        self.pipe, theirs = _CONTEXT.Pipe(duplex=False)
        self._stage, self._json, self._title = "drawing", "", "?"
        self._process = _CONTEXT.Process(target=_serve, args=(theirs, self._tasks), daemon=True)
        self._process.start()
        theirs.close()

    def read(self) -> Iterator[Judged]:
        try:
            kind, content = self.pipe.recv()
        except EOFError:
            yield from self._ended()
            return
        if kind == "case":
            self._title, self._json = content
        elif kind == "stage":
            self._stage = content
        else:
            yield self._finish(content)

    def stalled(self, hangs: bool) -> Iterator[Judged]:
        if hangs:
            self._process.kill()
            self._process.join()
            yield from self._failed("hang")

    def _ended(self) -> Iterator[Judged]:
        self._process.join()
        if not self._tasks:
            self.done = True
            return
        yield from self._failed("crash")

    def _failed(self, how: str) -> Iterator[Judged]:
        task = self._tasks[0]
        if self._stage.startswith("jitney") or self._stage == "drawing":
            yield self._finish(Verdict(how, f"in {self._stage} (exit code {self._process.exitcode})"))
        else:
            task.skip.append(self._stage)  # a reference's own crash: ask again without it
        self.done = not self._tasks
        if not self.done:
            self._start()

    def _finish(self, verdict: Verdict) -> Judged:
        judged = Judged(self._tasks.pop(0), self._title, self._json, verdict)
        self._stage, self._json, self._title = "drawing", "", "?"
        return judged


def _serve(pipe: Connection, tasks: list[Task]) -> None:
    faulthandler.disable()  # a crash is told by the parent, in a word
    for task in tasks:
        pipe.send(("verdict", _judge(pipe, task)))
    pipe.close()


def _judge(pipe: Any, task: Task) -> Verdict:
    try:
        case = task.case()
    except Reject:
        return Verdict("rejected")
    pipe.send(("case", (case.title, case.to_json())))
    return judge(case, enter=lambda stage: pipe.send(("stage", stage)), skip=task.skip)
