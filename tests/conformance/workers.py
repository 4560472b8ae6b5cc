"""Runs tests in worker processes, so that one that crashes or hangs is recorded as such and the others go on."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import TypeVar

from judge import Outcome

Item = TypeVar("Item")


def run_all(
    items: Sequence[Item], judge: Callable[[Item], Outcome], *, workers: int | None = None, limit: float = 120.0
) -> list[Outcome]:
    """The outcome of each item, in order. Workers are forks, so they have the items already; `limit` is in seconds per item."""
    outcomes: list[Outcome | None] = [None] * len(items)
    waiting = list(reversed(range(len(items))))
    running: list[_Worker] = []
    try:
        while waiting or any(worker.index is not None for worker in running):
            while waiting and len(running) < (workers or os.cpu_count() or 2):
                running.append(_Worker(items, judge))
            for worker in running:
                if worker.index is None and waiting:
                    worker.start(waiting.pop(), limit)
            busy = [worker for worker in running if worker.index is not None]
            rest = min(worker.deadline for worker in busy) - time.monotonic()
            ready = wait([worker.channel for worker in busy], timeout=max(rest, 0))
            for worker in busy:
                index = worker.index
                assert index is not None
                if worker.channel in ready:
                    outcomes[index] = worker.result()
                elif time.monotonic() >= worker.deadline:
                    outcomes[index] = worker.kill(f"no result after {limit:.0f} s")
            running = [worker for worker in running if worker.process.is_alive()]
    finally:
        for worker in running:
            worker.kill("")
    return [outcome for outcome in outcomes if outcome is not None]


class _Worker:
    """A process and the item that it is at."""

    def __init__(self, items: Sequence[Item], judge: Callable[[Item], Outcome]) -> None:
        context = multiprocessing.get_context("fork")
        self.channel, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, items, judge), daemon=True)
        self.process.start()
        theirs.close()
        self.index: int | None = None
        self.deadline = 0.0

    def start(self, index: int, limit: float) -> None:
        self.index = index
        self.deadline = time.monotonic() + limit
        self.channel.send(index)

    def result(self) -> Outcome:
        self.index = None
        try:
            outcome: Outcome = self.channel.recv()
        except (EOFError, OSError):
            self.process.join()
            return Outcome("crash", _cause(self.process.exitcode))
        return outcome

    def kill(self, reason: str) -> Outcome:
        self.index = None
        self.process.kill()
        self.process.join()
        return Outcome("hang", reason)


def _serve(channel: Connection, items: Sequence[Item], judge: Callable[[Item], Outcome]) -> None:
    while True:
        try:
            index = channel.recv()
        except EOFError:
            return
        channel.send(judge(items[index]))


def _cause(code: int | None) -> str:
    return f"killed by {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit status {code}"
