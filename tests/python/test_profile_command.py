"""`jitney profile`: its table, JSON, page and trace."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from jitney.profiling import summarise
from jitney.reports import Profile, ProfileEvent, StepReport, WorkerEvent

SHAPE = ("--shape", "x=1,3,32,32", "--runs", "3", "--threads", "1")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jitney.cli", "profile", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Traceback" not in result.stderr, result.stderr
    return result


def test_all_of_it(conv: Path, tmp_path: Path) -> None:
    """One run for all outputs: the machine's peak is measured in each."""
    page, trace = tmp_path / "p<.html", tmp_path / "t.json"
    result = run(conv, *SHAPE, "--json", "--html", page, "--trace", trace)
    assert result.returncode == 0, result.stderr
    data = json.loads(result.stdout)
    assert data["runs"] == 3 and data["threads"] == 1
    assert 0 < data["least_ns"] <= data["median_ns"]
    assert sum(step["share"] for step in data["steps"]) <= 1 + 1e-9
    (step,) = (step for step in data["steps"] if step["op"] == "conv")
    assert step["flops"] == 2 * 8 * 16 * 16 * 27 and step["least_ns"] > 0 and step["of_peak"] > 0

    html = page.read_text()
    HTMLParser().feed(html)
    assert not re.search(r"(src|href)=|@import|fetch\(|url\(", html)  # needs no network
    figures = json.loads(re.search(r"const D = (.*);\n", html)[1])
    assert len(figures["steps"]) == len(data["steps"]) and figures["plan"]["buffers"]

    events = json.loads(trace.read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert sum(event["name"] == "run" for event in spans) == 3
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in spans)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p<.html", "t.json"]


def test_a_table(conv: Path) -> None:
    result = run(conv, *SHAPE, "--sort", "order", "--top", "2")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert "GFLOP/s" in lines[1] and "kernel" in lines[1]
    assert lines[4].startswith("between the steps") and lines[-1].startswith("this machine, 1 threads")


@pytest.mark.parametrize("option", ["--html", "--trace"])
def test_files_that_cannot_be_written(conv: Path, tmp_path: Path, option: str) -> None:
    (tmp_path / "file").write_text("old")
    result = run(conv, *SHAPE, option, tmp_path / "file" / "out")
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr.startswith("jitney: error: ") and "cannot be written" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert run(conv, *SHAPE, option, tmp_path).returncode == 1


def test_open_sizes_are_named(conv: Path) -> None:
    result = run(conv)
    assert result.returncode == 1 and "--shape x=" in result.stderr


def step(name: str) -> StepReport:
    return StepReport(name, name, "kernel", "cpu", ((1,),), 0, 0, "", 10.0, 4)


def test_times_inside_a_loop_are_counted_once() -> None:
    """Two runs of: a, then a loop around two calls of b."""
    events = []
    for origin in (0, 1000):
        spans = ((-1, 0, 120), (0, 10, 30), (1, 40, 100), (2, 45, 55), (2, 60, 80))
        events += [ProfileEvent(index, 0, origin + start, origin + end) for index, start, end in spans]
    measured = summarise(Profile((step("a"), step("loop"), step("b")), tuple(events), 0))
    assert [(times.report.op, times.median, times.calls, times.inside_loop) for times in measured.steps] == [
        ("a", 20, 1, False),
        ("loop", 30, 1, False),
        ("b", 30, 2, True),
    ]
    assert measured.between == 120 - 20 - 60
    assert measured.steps[2].flops == 20 and measured.total + measured.between == 120


def test_nothing_ran() -> None:
    assert summarise(Profile((), (), 0)).steps == ()


def test_how_busy_the_threads_were() -> None:
    """Two executions of a step on two threads: 40 + 60 of 2 · 100, then 50 of 2 · 50; the other step was not shared out."""
    events = tuple(ProfileEvent(index, 0, start, end) for index, start, end in ((-1, 0, 110), (0, 0, 100), (1, 100, 110)))
    later = tuple(ProfileEvent(index, 0, start, end) for index, start, end in ((-1, 200, 260), (0, 200, 250), (1, 250, 260)))
    work = (WorkerEvent(0, 0, 0, 5, 95, 40), WorkerEvent(0, 0, 1, 9, 99, 60), WorkerEvent(0, 0, 1, 200, 250, 50))
    measured = summarise(Profile((step("a"), step("b")), events + later, 0, work), threads=2)
    assert [times.busy for times in measured.steps] == [0.5, 0.5]
    assert len(measured.work) in (1, 2)
