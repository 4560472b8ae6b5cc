"""The benchmark of single operators: its cases are sound, and a few of them run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import onnx
import pytest
from single_ops.__main__ import main
from single_ops.case import Case, floats, node
from single_ops.duel import measure
from single_ops.families import FAMILIES, chosen, full_names


def test_names_are_unique() -> None:
    names = full_names()
    assert len(names) == len(set(names)) == len(chosen(""))


@pytest.mark.parametrize("family", FAMILIES)
def test_models_are_valid(family: str) -> None:
    for case in FAMILIES[family]:
        model = case.model()
        onnx.checker.check_model(model, full_check=True)
        assert [value.name for value in model.graph.input] == list(case.feeds())
        assert all(value.type.tensor_type.elem_type for value in model.graph.output), case.name


def test_documented_patterns_find_cases() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/performance.md").read_text(encoding="utf-8")
    patterns = [quoted or plain for quoted, plain in re.findall(r"OPS=(?:'([^']+)'|([^\s`']+))", page)]
    assert len(patterns) > 10
    assert [pattern for pattern in patterns if not chosen(pattern)] == []


def test_a_few_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "figures.json"
    pattern = "add a column|less of a column|softmax 1x12"
    assert main([pattern, "--rounds", "1", "--json", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| µs, 1 thread | Jitney | ONNX Runtime | ratio |"
    assert lines[2].startswith("| elementwise/add a column and a row 512x512 | ") and len(lines) == 7
    assert lines[5].startswith("| geometric mean of 3 |  |  | **")
    rows = json.loads(path.read_text(encoding="utf-8"))["results"]
    assert len(rows) == 3 and all(row["jitney_us"] > 0 and row["ort_us"] > 0 and row["difference"] < 1e-4 for row in rows)


def test_what_cannot_run_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    row = measure("x", Case("x", [node("NoSuchOp", "x")], {"x": floats(1)}), 1, 1)
    assert "NoSuchOp" in row.error and row.ratio is None
    with pytest.raises(SystemExit):
        main(["no such case"])
    assert "--list" in capsys.readouterr().err
