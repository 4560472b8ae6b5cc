"""The process that runs the ONNX model: it is reused, and its crashes, hangs and faults do no harm."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from op_check import floats, model_of, value

from jitney.converter import convert, reference_process
from jitney.converter.load import load
from jitney.converter.reference import BudgetExceeded, Crashed, Reference, Refused
from jitney.converter.reference_process import ReferenceProcess

HOSTILE = """
import os, pickle, sys, time
answers = os.fdopen(os.dup(1), "wb")
while True:
    verb, *operands = pickle.load(sys.stdin.buffer)
    if verb == "path":
        continue
    if verb == "load" and operands[0] == "onnxruntime" and {crashes_at!r} == "load":
        os.abort()
    if verb == "run" and {crashes_at!r} == "run":
        os.abort()
    if verb == "run" and {crashes_at!r} == "hang":
        time.sleep(60)
    pickle.dump(("ok", operands[0] if verb == "load" else [{{"x": 1}}]), answers)
    answers.flush()
"""


@pytest.fixture(autouse=True)
def no_idle_process() -> None:
    """Each test starts its own."""
    reference_process._end_idle()


def relu() -> onnx.ModelProto:
    return model_of([helper.make_node("Relu", ["x"], ["y"])], [value("x", ["N"])], [value("y")])


def replace_worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, crashes_at: str) -> None:
    """Processes started from now on crash or hang where a model would make the reference do so."""
    (tmp_path / "reference_worker.py").write_text(HOSTILE.format(crashes_at=crashes_at), encoding="utf-8")
    monkeypatch.setattr(reference_process, "__file__", str(tmp_path / "reference_process.py"))


def in_a_minute() -> float:
    return time.monotonic() + 60


def test_one_process_serves_many_models(tmp_path: Path) -> None:
    x = floats(5)
    with Reference(load(relu()), in_a_minute()) as first:
        process = first._process
        np.testing.assert_array_equal(first.run({"x": x})["y"], np.maximum(x, 0))
    onnx.save(relu(), tmp_path / "m.onnx")
    with Reference(load(tmp_path / "m.onnx"), in_a_minute()) as second:
        assert second._process is process and second.name
        with Reference(load(relu()), in_a_minute()) as third:
            assert third._process is not process
            np.testing.assert_array_equal(third.run({"x": x})["y"], second.run({"x": x})["y"])
    assert len(reference_process._idle) == 1


def test_what_the_reference_refuses_is_said() -> None:
    with Reference(load(relu()), in_a_minute()) as runs:
        with pytest.raises(Refused):
            runs.run({"z": floats(2)})
        assert len(runs.run({"x": floats(2)})) == 1
    with pytest.raises(Refused):
        Reference(load(model_of([helper.make_node("NoSuchOp", ["x"], ["y"])], [value("x", ["N"])], [value("y")])), in_a_minute())


@pytest.mark.parametrize("crashes_at", ["load", "run"])
def test_a_crash_lets_the_next_reference_try(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, crashes_at: str) -> None:
    replace_worker(monkeypatch, tmp_path, crashes_at)
    if crashes_at == "load":
        with Reference(load(relu()), in_a_minute()) as runs:
            assert runs.name == "evaluator (ONNX Runtime crashed: killed by SIGABRT)"
    else:
        runs = Reference(load(relu()), in_a_minute())
        with pytest.raises(Crashed, match=r"the reference crashed: evaluator .* was killed by SIGABRT"):
            runs.run({"x": floats(2)})
        runs.close()


def test_a_crash_makes_a_model_not_verifiable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    replace_worker(monkeypatch, tmp_path, "run")
    verification = convert(relu(), tmp_path / "m.jny").verification
    assert verification.outcome == "not verifiable" and "the reference crashed" in verification.reason
    assert (tmp_path / "m.jny").exists()


def test_the_budget_is_kept_by_killing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    replace_worker(monkeypatch, tmp_path, "hang")
    runs = Reference(load(relu()), in_a_minute())
    runs._deadline = time.monotonic() + 0.3
    process = runs._process
    assert process is not None
    with pytest.raises(BudgetExceeded):
        runs.run({"x": floats(2)})
    assert not process.alive


def test_a_process_that_ended_while_idle_is_replaced() -> None:
    process = ReferenceProcess()
    reference_process.give_back(process)
    process.kill()
    with Reference(load(relu()), in_a_minute()) as runs:
        assert runs._process is not process


def test_nothing_but_answers_comes_from_the_process(tmp_path: Path) -> None:
    """What libraries print must not be taken for an answer, and modules beside the program not for those they are named like."""
    assert os.path.dirname(reference_process.__file__) not in sys.path  # noqa: PTH120
    with Reference(load(relu()), in_a_minute()) as runs:
        assert runs.run({"x": np.float32([-1, 1])})["y"].tolist() == [0, 1]
