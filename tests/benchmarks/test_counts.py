"""The counting gates: what they say of changed counts, and which loops they find in assembly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from counts import baseline
from counts.baseline import Measurement, compare, store
from counts.loops import hot_loops

TOOLS = {"g++": "12.2.0"}


def measured(instructions: float) -> Measurement:
    return Measurement("gate", TOOLS, {"conv": {"instructions": instructions}})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(baseline, "_FOLDER", tmp_path)
    return tmp_path


def test_counts_within_the_tolerance_pass(folder: Path) -> None:
    store(Measurement("gate", TOOLS, {"conv": {"instructions": 1000}}, {"conv": "f32_gemm"}))
    assert json.loads((folder / "gate.json").read_text())["cases"]["conv"]["kernels"] == "f32_gemm"
    assert compare(measured(1000)) == compare(measured(1029)) == compare(measured(971)) == []


def test_a_regression_says_which_count_and_by_how_much() -> None:
    store(measured(1000))
    assert compare(measured(1050)) == ["gate: conv: instructions 1,000 → 1,050 (+5.0%): REGRESSION"]
    assert "improvement" in compare(measured(900))[0]


def test_other_cases_and_other_tools_are_no_match() -> None:
    assert "no baseline" in compare(measured(1000))[0]
    store(measured(1000))
    other = Measurement("gate", TOOLS, {"pool": {"instructions": 5}})
    assert compare(other) == ["gate: pool is new", "gate: conv is gone"]
    assert "g++ 13.1" in compare(Measurement("gate", {"g++": "13.1"}, {}))[0]


def test_the_stored_baselines_can_be_read() -> None:
    files = sorted((Path(baseline.__file__).parent / "baseline").glob("*.json"))
    assert [file.stem for file in files] == ["callgrind", "emulated", "loops"]
    for file in files:
        cases = json.loads(file.read_text())["cases"]
        assert all(count > 0 for counts in cases.values() for what, count in counts.items() if what != "kernels")


ASSEMBLY = """
	.type	tile, %function
tile:
	mov	x4, 0
.L2:
	ldr	q0, [x1], 16
.L3:
	fmla	v1.4s, v0.4s, v2.s[0]
	fmla	v2.4s, v0.4s, v2.s[1]
	fmla	v3.4s, v0.4s, v2.s[2]
	fmla	v4.4s, v0.4s, v2.s[3]
	subs	x2, x2, 1
	bne	.L3
	cbnz	x3, .L2
	ret
	.size	tile, .-tile
	.type	other, %function
other:
.L9:
	fmla	v1.4s, v0.4s, v2.4s
	b.ne	.L9
	ret
	.size	other, .-other
"""


def test_the_innermost_loop_is_found() -> None:
    (loop,) = hot_loops(ASSEMBLY)
    assert (loop.function, loop.multiply_adds, len(loop.code)) == ("tile", 4, 6)
