"""run_all: what crashes or hangs is recorded, and the rest goes on."""

from __future__ import annotations

import os
import signal
import time

from judge import PASS, Outcome
from workers import run_all


def judge(item: str) -> Outcome:
    if item == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "exit":
        os._exit(3)
    if item == "hang":
        time.sleep(60)
    return Outcome(PASS, item)


def test_crashes_and_hangs_do_not_stop_the_run() -> None:
    items = ["a", "crash", "b", "hang", "exit", "c", "crash", "d"]
    outcomes = run_all(items, judge, workers=2, limit=1.0)
    assert [outcome.kind for outcome in outcomes] == [PASS, "crash", PASS, "hang", "crash", PASS, "crash", PASS]
    assert outcomes[1].reason == "killed by SIGKILL"
    assert outcomes[4].reason == "exit status 3"
    assert [outcome.reason for outcome in outcomes if outcome.kind == PASS] == ["a", "b", "c", "d"]


def test_nothing_to_do() -> None:
    assert run_all([], judge) == []
