"""Generated cases: the ones that failed once, a fixed set of new ones, and what hypothesis makes of the same rules."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .case import Case
from .draw import Reject
from .generate import case_of, draw_case
from .judge import judge
from .rules import RULES
from .workers import Judged, Task, run_all

REGRESSIONS = Path(__file__).with_name("regressions.jsonl").read_text().splitlines()
GOOD = {"agree", "no reference", "disputed", "unsupported", "rejected"}


@pytest.mark.parametrize("line", REGRESSIONS, ids=[Case.from_json(line).title for line in REGRESSIONS])
def test_what_failed_once(line: str) -> None:
    verdict = judge(Case.from_json(line))
    assert verdict.outcome == "agree", verdict.reason


def test_drawn_cases() -> None:
    """In processes of their own, as a reference may crash."""
    judged = list(run_all([Task(f"ci/{number}") for number in range(2000)], jobs=2))
    assert len(judged) == 2000
    bad = [item for item in judged if item.verdict.outcome not in GOOD]
    assert not bad, "\n".join(map(_text, bad))
    agreeing = sum(item.verdict.outcome == "agree" for item in judged)
    assert agreeing > 1600


def _text(judged: Judged) -> str:
    return f"{judged.verdict.outcome} {judged.title}: {judged.verdict.reason}\n    {judged.json}"


@settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_rules_under_hypothesis(random: Random) -> None:
    """Hypothesis shrinks what fails to a small case."""
    try:
        case = draw_case(random)
    except Reject:
        return
    verdict = judge(case, skip=["ONNX Runtime"])  # it crashes now and then
    assert verdict.outcome in GOOD, f"{verdict.reason}\n{case.to_json()}"


def test_cases_can_be_kept() -> None:
    for number in range(60):
        case = case_of(f"kept/{number}")
        again = Case.from_json(case.to_json())
        assert again == case
        assert again.model() == case.model()


def test_every_rule_can_be_drawn() -> None:
    for op in RULES:
        titles = {case_of(f"{op}/{number}", [op]).title for number in range(3)}
        assert titles == {op}


def test_a_wrong_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from . import judge as module

    case = case_of("wrong/1", ["Add"])
    assert judge(case).outcome == "agree"
    real = module.run_jitney
    monkeypatch.setattr(module, "run_jitney", lambda *given: {name: array + 1 for name, array in real(*given).items()})
    assert judge(case).outcome == "wrong"
