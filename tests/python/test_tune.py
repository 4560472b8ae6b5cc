"""`jitney tune` and the files that it writes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import make_onnx
from typer.testing import CliRunner

import jitney
from jitney import _core
from jitney.cli import app
from jitney.tuning import format_tuning, read_tuning


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tune")


@pytest.fixture(scope="module")
def picture(folder: Path) -> Path:
    """Two 3×3 convolutions, for which there is more than one way, and a product, which has one a kernel."""
    rng = np.random.default_rng(0)
    constants = {
        "w0": rng.standard_normal((32, 16, 3, 3), np.float32) / 12,
        "w1": rng.standard_normal((48, 32, 3, 3), np.float32) / 17,
        "w2": rng.standard_normal((48, 5), np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["a", "w1"], ["b"], pads=[1, 1, 1, 1]),
        helper.make_node("GlobalAveragePool", ["b"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("MatMul", ["f", "w2"], ["y"]),
    ]
    proto = make_onnx(nodes, [("x", TensorProto.FLOAT, ["N", 16, 24, 24])], [("y", TensorProto.FLOAT, ["N", 5])], constants)
    onnx.save(proto, folder / "picture.onnx")
    jitney.convert(folder / "picture.onnx", folder / "picture.jny")
    return folder / "picture.jny"


def ways_of(session: jitney.Session) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {step.work: (step.way, step.ways) for step in session.plan_report().steps if step.work}


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.stdout, result.stderr


def test_every_way_gives_the_same_numbers(picture: Path) -> None:
    x = np.random.default_rng(1).standard_normal((2, 16, 24, 24), np.float32)
    with jitney.Session(picture, tuning=None) as session:
        wanted = session.run(x)["y"]
        choices = ways_of(session)
    assert sum(work.startswith("conv 3×3") for work in choices) == 2
    for work, (taken, ways) in choices.items():
        assert taken in ways
        assert len(ways) > 1
        for way in ways:
            with jitney.Session(picture, tuning={work: way}) as tuned:
                np.testing.assert_allclose(tuned.run(x)["y"], wanted, rtol=1e-4, atol=1e-5)
                now = ways_of(tuned)
                assert now[work][0] == way
                assert all(now[other] == choices[other] for other in choices if other != work)


@pytest.fixture(scope="module")
def narrow(folder: Path) -> Path:
    """A 1×1 convolution that feeds a depthwise one, and a last 1×1: kernels and chains to choose from."""
    rng = np.random.default_rng(0)
    constants = {
        "w0": rng.standard_normal((40, 9, 1, 1), np.float32) / 3,
        "w1": rng.standard_normal((40, 1, 3, 3), np.float32) / 3,
        "w2": rng.standard_normal((7, 40, 1, 1), np.float32) / 6,
    }
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], name="expand"),
        helper.make_node("Conv", ["a", "w1"], ["b"], name="depth", group=40, pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["b", "w2"], ["y"], name="project"),
    ]
    shapes = [("x", TensorProto.FLOAT, ["N", 9, 30, 31])], [("y", TensorProto.FLOAT, ["N", 7, 30, 31])]
    onnx.save(make_onnx(nodes, *shapes, constants), folder / "narrow.onnx")
    jitney.convert(folder / "narrow.onnx", folder / "narrow.jny")
    return folder / "narrow.jny"


@pytest.mark.parametrize("threads", [1, 2])
def test_kernels_and_chains_change_no_bit(narrow: Path, threads: int) -> None:
    x = np.random.default_rng(1).standard_normal((2, 9, 30, 31), np.float32)
    with jitney.Session(narrow, threads=threads, tuning=None) as session:
        wanted = session.run(x)["y"]
    for chains in ("together", "apart"):
        with jitney.Session(narrow, threads=threads, tuning={"chains": chains}) as session:
            assert np.array_equal(session.run(x)["y"], wanted)
            assert np.array_equal(session.run(x[1:])["y"], wanted[1:])
            choices = ways_of(session)
            assert any(way == "together" for way, _ in choices.values()) == (chains == "together")
        for work, (_, ways) in choices.items():
            for way in ways:
                with jitney.Session(narrow, threads=threads, tuning={"chains": chains, work: way}) as session:
                    assert np.array_equal(session.run(x)["y"], wanted)


def test_chains_are_measured(narrow: Path, folder: Path) -> None:
    target = folder / "narrow.tuned"
    code, out, _ = run(
        "tune", str(narrow), "--shape", "x=1,9,30,31", "--rounds", "2", "--threads", "1", "--json", "-o", str(target)
    )
    assert code == 0
    data = json.loads(out)
    chains = [item for item in data["measured"] if "depthwise" in item["work"]]
    assert [sorted(item["ms"]) for item in chains] == [["apart", "together"]]
    assert chains[0]["taken"] == "apart"
    with jitney.Session(narrow, tuning=target) as session:
        session.prepare({"x": (1, 9, 30, 31)})


def test_work_does_not_depend_on_batch_or_threads(picture: Path) -> None:
    works = []
    for threads, batch in ((1, 1), (2, 1), (1, 7)):
        with jitney.Session(picture, threads=threads, tuning=None) as session:
            session.prepare({"x": (batch, 16, 24, 24)})
            works.append(ways_of(session))
    assert works[0] == works[1] == works[2]


def test_unknown_ways_are_not_followed(picture: Path) -> None:
    with jitney.Session(picture, tuning=None) as session:
        session.prepare({"x": (1, 16, 24, 24)})
        choices = ways_of(session)
    tuning = {**dict.fromkeys(choices, "by magic"), "no such work": "indirect"}
    with jitney.Session(picture, tuning=tuning) as session:
        session.prepare({"x": (1, 16, 24, 24)})
        assert ways_of(session) == choices


def test_the_command_writes_what_sessions_follow(picture: Path, folder: Path) -> None:
    code, out, err = run("tune", str(picture), "--shape", "x=1,16,24,24", "--rounds", "2", "--threads", "1", "--json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    path = folder / "picture.jny.tuned"
    assert data["file"] == str(path)
    assert read_tuning(path) == data["ways"]
    assert data["after_ms"] <= data["before_ms"]
    assert {way for item in data["measured"] for way in item["ms"]} >= {"indirect"}
    with jitney.Session(picture) as session:
        assert session.backend_report.tuning == f"follows {path}"
        session.prepare({"x": (1, 16, 24, 24)})
        taken = ways_of(session)
        assert all(taken[work][0] == way for work, way in data["ways"].items())
    with jitney.Session(picture.read_bytes()) as session:
        assert "path" in session.backend_report.tuning


def test_a_table_for_people(picture: Path, folder: Path) -> None:
    target = folder / "elsewhere.tuned"
    code, out, _ = run("tune", str(picture), "--shape", "x=1,16,24,24", "--rounds", "1", "-o", str(target))
    assert code == 0
    assert "3×3" in out
    assert "ms per run" in out
    assert target.exists()


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", jitney.InvalidInput, "first line"),
        ("jitney tuning 1\n", jitney.InvalidInput, "ends after"),
        ("jitney tuning 2\nx\n", jitney.InvalidInput, "first line"),
        ("\0" * 1000, jitney.InvalidInput, "first line"),
        ("jitney tuning 1\nanother CPU | avx2 | jitney 0.0.1\n", jitney.Unsupported, "another CPU"),
        (None, jitney.IoError, "cannot read"),
    ],
)
def test_files_that_do_not_suit(picture: Path, tmp_path: Path, text: str | None, error: type[jitney.Error], words: str) -> None:
    path = tmp_path / "m.tuned"
    if text is not None:
        path.write_text(text)
    with pytest.raises(error, match=words):
        jitney.Session(picture, tuning=path)


@pytest.mark.parametrize("kind", ["no UTF-8", "a pipe", "a folder", "endless", "one long line"])
def test_what_lies_beside_a_model_does_no_harm(picture: Path, tmp_path: Path, kind: str) -> None:
    copy = tmp_path / "m.jny"
    copy.write_bytes(picture.read_bytes())
    beside = tmp_path / "m.jny.tuned"
    if kind == "no UTF-8":
        beside.write_bytes(format_tuning({}).encode() + b"indirect\t\xff\n")
    elif kind == "a pipe":
        os.mkfifo(beside)
    elif kind == "a folder":
        beside.mkdir()
    elif kind == "endless":
        beside.symlink_to("/dev/zero")
    else:
        beside.write_bytes(format_tuning({}).encode() + b"a" * (5 << 20))
    with jitney.Session(copy) as session:
        assert session.backend_report.tuning.startswith("not followed")
    with pytest.raises((jitney.IoError, jitney.InvalidInput)):
        jitney.Session(copy, tuning=beside)


def test_a_model_whose_name_leaves_no_room_for_the_suffix(picture: Path, tmp_path: Path) -> None:
    copy = tmp_path / ("m" * 251 + ".jny")
    copy.write_bytes(picture.read_bytes())
    with jitney.Session(copy) as session:
        assert "there is no" in session.backend_report.tuning


def test_paths_as_bytes(picture: Path) -> None:
    class InBytes(os.PathLike[bytes]):
        def __fspath__(self) -> bytes:
            return os.fsencode(picture)

    with jitney.Session(InBytes()) as session:  # type: ignore[arg-type]
        assert str(picture) in session.backend_report.tuning


@pytest.mark.parametrize("line", ["winograd_4x4", "\twork", "way\t", ""])
def test_lines_that_say_nothing(picture: Path, tmp_path: Path, line: str) -> None:
    path = tmp_path / "m.tuned"
    path.write_text(format_tuning({}) + line + "\nindirect\twork\n")
    with pytest.raises(jitney.InvalidInput, match="no way, tab, and work"):
        jitney.Session(picture, tuning=path)


def test_a_file_of_another_machine_beside_the_model_is_left_alone(picture: Path, tmp_path: Path) -> None:
    copy = tmp_path / "m.jny"
    copy.write_bytes(picture.read_bytes())
    (tmp_path / "m.jny.tuned").write_text("jitney tuning 1\nanother CPU | avx2 | jitney 0.0.1\n")
    with jitney.Session(copy) as session:
        assert "another CPU" in session.backend_report.tuning


def test_written_files_are_read_again(tmp_path: Path) -> None:
    ways = {"conv 3×3 …": "winograd_4x4", "b": "c"}
    (tmp_path / "t").write_text(format_tuning(ways))
    assert read_tuning(tmp_path / "t") == ways
    assert _core.tuning_target() in (tmp_path / "t").read_text()


@pytest.mark.parametrize("tuning", [3, {"a": 1}, ["a"], {"\ud800": "a"}, {"a": "\ud800"}])
def test_what_is_no_tuning(picture: Path, tuning: object) -> None:
    with pytest.raises(jitney.InvalidInput, match="tuning"):
        jitney.Session(picture, tuning=tuning)  # type: ignore[arg-type]


@pytest.mark.parametrize("tuning", ["\ud800", "a\0b"])
def test_what_is_no_path(picture: Path, tuning: str) -> None:
    with pytest.raises(jitney.IoError):
        jitney.Session(picture, tuning=tuning)


def test_a_place_that_cannot_be_written(picture: Path, tmp_path: Path) -> None:
    code, _, _ = run("tune", str(picture), "--shape", "x=1,16,24,24", "--rounds", "1", "-o", str(tmp_path / "no" / "t"))
    assert code != 0
