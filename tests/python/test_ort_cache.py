"""What jitney.ort keeps of converted models, and what happens if it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import pytest
from onnx import helper
from ort_contract import adding, model, one_op, ones, session, value_info

from jitney.ort import cache, conversion


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JITNEY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_warned", False)
    return tmp_path / "cache"


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Grows by one with each conversion."""
    made: list[object] = []
    convert = conversion.convert

    def counted(source: str | bytes, recipe: object) -> object:
        made.append(recipe)
        return convert(source, recipe)

    monkeypatch.setattr(conversion, "convert", counted)
    return made


FEED = {"left": ones(1, 2), "right": ones(1, 2)}


def test_converts_once(ort: ModuleType, folder: Path, conversions: list[object], tmp_path: Path) -> None:
    proto = adding()
    onnx.save(proto, tmp_path / "a.onnx")
    onnx.save(proto, tmp_path / "b.onnx")
    for source in (tmp_path / "a.onnx", tmp_path / "b.onnx", proto.SerializeToString()):
        assert ort.InferenceSession(source).run(["total"], FEED)[0].tolist() == [[2, 2]]
    assert len(conversions) == 1
    assert [path.suffix for path in folder.iterdir()] == [".jny"]
    proto.doc_string = "another content"
    session(ort, proto)
    assert len(conversions) == 2


def test_recipes_are_kept_apart(ort: ModuleType, folder: Path, conversions: list[object]) -> None:
    inputs = [value_info("x", ["N", 2]), value_info("w", ["K"])]
    proto = model([helper.make_node("Add", ["x", "w"], ["y"])], inputs, [value_info("y", ["N", 2])], {"w": ones(2)})
    for _ in range(2):
        options = ort.SessionOptions()
        options.add_free_dimension_override_by_name("N", 1)
        session(ort, proto, options)
        replaced = ort.SessionOptions()
        replaced.add_initializer("w", ort.OrtValue.ortvalue_from_numpy(9 * ones(2)))
        assert session(ort, proto, replaced).run(None, {"x": ones(1, 2)})[0].tolist() == [[10, 10]]
        loaded = session(ort, proto)
        for _ in range(3):
            assert loaded.run(None, {"x": ones(1, 2)})[0].tolist() == [[2, 2]]
            assert loaded.run(None, {"x": ones(1, 2), "w": 3 * ones(2)})[0].tolist() == [[4, 4]]
    assert len(conversions) == 4


def test_the_interface_comes_from_the_cache(ort: ModuleType, folder: Path, conversions: list[object]) -> None:
    proto = adding(["past + N", 2], [None, 0])
    helper.set_model_props(proto, {"key": "value"})
    told = []
    for _ in range(2):
        loaded = session(ort, proto)
        args = [*loaded.get_inputs(), *loaded.get_outputs()]
        told.append(([(arg.name, arg.shape, arg.type) for arg in args], loaded.get_modelmeta()))
    assert told[0] == told[1]
    assert told[0][0][0] == ("left", ["past + N", 2], "tensor(float)")
    assert len(conversions) == 1


def test_a_damaged_entry_is_made_anew(ort: ModuleType, folder: Path, conversions: list[object]) -> None:
    session(ort, adding())
    (entry,) = folder.iterdir()
    whole = entry.read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"garbage" * 100):
        entry.write_bytes(content)
        assert session(ort, adding()).run(["total"], FEED)[0].tolist() == [[2, 2]]
        assert entry.read_bytes() == whole
    assert len(conversions) == 4


@pytest.mark.parametrize("obstacle", ["file", "off"])
def test_works_without_a_cache(
    ort: ModuleType, folder: Path, conversions: list[object], obstacle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if obstacle == "off":
        monkeypatch.setenv("JITNEY_CACHE", "off")
    else:
        folder.write_text("a file where the folder should be")
        with pytest.warns(UserWarning, match="converted models cannot be kept"):
            session(ort, adding())
        conversions.clear()
    # The warning comes once: pytest would turn another into an error here.
    for _ in range(2):
        assert session(ort, adding()).run(["total"], FEED)[0].tolist() == [[2, 2]]
    assert len(conversions) == 2


def test_a_full_disk(ort: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(UserWarning, match="No space left on device"):
        loaded = session(ort, adding())
    assert loaded.run(["total"], FEED)[0].tolist() == [[2, 2]]
    assert list(folder.iterdir()) == []


def test_old_entries_go(ort: ModuleType, folder: Path, conversions: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    def of_size(size: int) -> onnx.ModelProto:
        node = helper.make_node("Add", ["x", "w"], ["y"])
        weights = np.arange(size, dtype=np.float32)
        return model([node], [value_info("x", [1])], [value_info("y", None)], {"w": weights})

    monkeypatch.setenv("JITNEY_CACHE_BYTES", "100000")
    first, second, third = of_size(10_000), of_size(10_001), of_size(10_002)
    session(ort, first)
    session(ort, second)
    for age, path in enumerate(sorted(folder.iterdir(), key=lambda path: path.stat().st_size)):
        os.utime(path, (1000 + age, 1000 + age))
    (folder / ".dead.part").touch()
    os.utime(folder / ".dead.part", (1000, 1000))
    session(ort, first)  # used again, so the second goes
    session(ort, third)
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 100_000
    assert not (folder / ".dead.part").exists()
    conversions.clear()
    session(ort, first)
    assert conversions == []
    session(ort, second)
    assert len(conversions) == 1


def test_weights_beside_the_model_count(ort: ModuleType, folder: Path, conversions: list[object], tmp_path: Path) -> None:
    node = helper.make_node("Add", ["x", "w"], ["y"])
    proto = model([node], [value_info("x", ["N", 64])], [value_info("y", None)], {"w": ones(64)})
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    contents = [(value * ones(64)).tobytes() for value in (1, 5)]
    for value in (0, 1, 0, 1):
        (tmp_path / "w.bin").write_bytes(contents[value])
        result = ort.InferenceSession(tmp_path / "m.onnx").run(None, {"x": ones(1, 64)})[0]
        assert result[0, 0] == (2, 6)[value]
    assert len(conversions) == 2


def test_several_processes_at_once(ort: ModuleType, folder: Path, tmp_path: Path) -> None:
    onnx.save(one_op("Relu", ["N"]), tmp_path / "m.onnx")
    code = """
import sys, numpy as np
from jitney import ort
for _ in range(5):
    assert ort.InferenceSession(sys.argv[1]).run(None, {"x": np.ones(3, np.float32)})[0].tolist() == [1, 1, 1]
"""
    running = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", code, str(tmp_path / "m.onnx")], stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert [path.suffix for path in folder.iterdir()] == [".jny"]


NO_ONNX = """
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "onnx" else find(name, *rest)
sys.modules["onnx"] = None
import numpy as np
from jitney import ort
"""


def test_a_hit_needs_no_onnx(ort: ModuleType, folder: Path, tmp_path: Path) -> None:
    onnx.save(one_op("Relu", ["N"]), tmp_path / "m.onnx")
    ort.InferenceSession(tmp_path / "m.onnx")
    code = f"""{NO_ONNX}
loaded = ort.InferenceSession(sys.argv[1])
assert loaded.get_inputs()[0].shape == ["N"]
assert loaded.run(None, {{"x": np.ones(3, np.float32)}})[0].tolist() == [1, 1, 1]
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "m.onnx")], check=True)


def test_a_miss_without_onnx_says_what_to_install(folder: Path, tmp_path: Path) -> None:
    onnx.save(one_op("Relu", ["N"]), tmp_path / "m.onnx")
    code = f"{NO_ONNX}\nort.InferenceSession(sys.argv[1])"
    command = [sys.executable, "-c", code, str(tmp_path / "m.onnx")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "needs the package 'onnx'" in result.stderr
    assert 'pip install "jitney[convert]"' in result.stderr


def test_the_platform_names_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JITNEY_CACHE", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache.folder() == Path("/caches/jitney/ort")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.folder() == Path.home() / ".cache" / "jitney" / "ort"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache.folder() == Path.home() / "Library" / "Caches" / "jitney" / "ort"
