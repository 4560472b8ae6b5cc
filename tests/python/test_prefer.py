"""What a session prefers: little memory, or what is computed from weights kept for the next run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import make_onnx
from typer.testing import CliRunner

import jitney
from jitney.cli import app


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two 3×3 convolutions whose many tiles make it pay to keep transformed weights."""
    rng = np.random.default_rng(0)
    constants = {name: rng.standard_normal((64, 64, 3, 3), np.float32) / 24 for name in ("w0", "w1")}
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["a", "w1"], ["y"], pads=[1, 1, 1, 1]),
    ]
    shape = ["N", 64, 40, 38]
    path = tmp_path_factory.mktemp("prefer") / "picture.jny"
    onnx.save(
        make_onnx(nodes, [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, shape)], constants),
        path.with_suffix(".onnx"),
    )
    jitney.convert(path.with_suffix(".onnx"), path)
    return path


def test_memory_grows_for_speed_alone_and_results_stay_the_same(picture: Path) -> None:
    x = np.random.default_rng(1).standard_normal((2, 64, 40, 38), np.float32)
    results, packed = {}, {}
    for prefer in ("memory", "speed"):
        with jitney.Session(picture, threads=2, prefer=prefer) as session:
            results[prefer] = session.run(x)["y"]
            memory = session.memory_report
            packed[prefer] = memory.packed_bytes / memory.weight_bytes
            assert all(
                ("are kept" in step.why) == (prefer == "speed") for step in session.plan_report().steps if step.op == "conv"
            )
    assert packed["memory"] <= 1.2 < 3.9 < packed["speed"] < 4.4
    assert np.array_equal(results["memory"], results["speed"])


def test_memory_is_the_default(picture: Path) -> None:
    with jitney.Session(picture) as session:
        session.prepare({"x": (1, 64, 40, 38)})
        assert session.memory_report.packed_bytes <= 1.2 * session.memory_report.weight_bytes


def test_a_session_for_speed_beside_one_for_memory(picture: Path) -> None:
    model = jitney.Model(picture)
    x = np.random.default_rng(2).standard_normal((1, 64, 40, 38), np.float32)
    with jitney.Session(model, prefer="speed") as fast, jitney.Session(model) as small:
        assert np.array_equal(fast.run(x)["y"], small.run(x)["y"])
        assert all(step.way.endswith("_kept") for step in fast.plan_report().steps if step.work)
        assert not any(way.endswith("_kept") for step in small.plan_report().steps for way in step.ways)


def test_every_way_that_keeps_weights(picture: Path) -> None:
    x = np.random.default_rng(3).standard_normal((1, 64, 40, 38), np.float32)
    with jitney.Session(picture, prefer="speed", tuning=None) as session:
        session.run(x)
        works = {step.work: step.ways for step in session.plan_report().steps if step.work}
    assert {"winograd_4x4_kept", "winograd_2x2_kept"} <= {way for ways in works.values() for way in ways}

    def run(way: str) -> np.ndarray:
        with jitney.Session(picture, prefer="speed", tuning=dict.fromkeys(works, way)) as session:
            return session.run(x)["y"]

    for way in ("winograd_4x4", "winograd_2x2"):
        assert np.array_equal(run(way), run(way + "_kept"))


@pytest.mark.parametrize("prefer", ["fast", "", "Speed", 3, None, "schnell-ä"])
def test_what_nobody_can_prefer(picture: Path, prefer: object) -> None:
    with pytest.raises(jitney.InvalidInput, match="prefer"):
        jitney.Session(picture, prefer=prefer)  # type: ignore[arg-type]


def test_commands(picture: Path) -> None:
    def info(*more: str) -> list[str]:
        result = CliRunner().invoke(app, ["info", str(picture), "--shape", "x=1,64,40,38", "--plan", "--json", *more])
        assert result.exit_code == 0, result.output
        return [step["why"] for step in json.loads(result.stdout)["steps"] if step["op"] == "conv"]

    assert not any("are kept" in why for why in info())
    assert all("are kept" in why for why in info("--prefer", "speed"))
    for command in ("bench", "profile"):
        result = CliRunner().invoke(app, [command, str(picture), "--shape", "x=1,64,40,38", "--prefer", "speed", "--json"])
        assert result.exit_code == 0, result.output
    assert CliRunner().invoke(app, ["bench", str(picture), "--shape", "x=1,64,40,38", "--prefer", "fast"]).exit_code == 1
