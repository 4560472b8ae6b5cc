"""Runs the code in README.md and docs/: every fenced block of Python, C++ and `jitney` commands."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import make_onnx

import jitney

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "docs/python.md", "docs/cli.md", "docs/cpp.md", "docs/errors.md", "docs/conformance.md", "docs/ort.md"]


def blocks(page: str, language: str) -> list[str]:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def recurrent() -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["xw"]),
        helper.make_node("MatMul", ["h", "u"], ["hu"]),
        helper.make_node("Add", ["xw", "hu"], ["s"]),
        helper.make_node("Tanh", ["s"], ["h_out"]),
        helper.make_node("ReduceMean", ["h_out"], ["y"]),
    ]
    inputs = [("x", TensorProto.FLOAT, [1, 4]), ("h", TensorProto.FLOAT, [1, 8])]
    outputs = [("y", TensorProto.FLOAT, [1, 1]), ("h_out", TensorProto.FLOAT, [1, 8])]
    return make_onnx(nodes, inputs, outputs, {"w": rng.random((4, 8), np.float32), "u": rng.random((8, 8), np.float32)})


@pytest.fixture
def work(conv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with model.onnx (x [N, 3, H, W] → y [N, 5]), stream.onnx (x [1, 4], h [1, 8] → y, h_out) and photo.jpg."""
    shutil.copy(conv.with_suffix(".onnx"), tmp_path / "model.onnx")
    onnx.save(recurrent(), tmp_path / "stream.onnx")
    picture = np.random.default_rng(0).integers(0, 255, (48, 80, 3), np.uint8)
    cv2.imwrite(str(tmp_path / "photo.jpg"), picture)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JITNEY_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")])
def test_python(page: str, work: Path) -> None:
    code = "\n".join(blocks(page, "python"))
    result = subprocess.run([sys.executable, "-c", code], cwd=work, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if any("jitney " in block for block in blocks(page, "sh"))])
def test_commands(page: str, work: Path) -> None:
    lines = [line for block in blocks(page, "sh") for line in block.splitlines() if line.startswith("jitney ")]
    assert lines
    for line in lines:
        command = [sys.executable, "-m", "jitney.cli", *shlex.split(line, comments=True)[1:]]
        result = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
        assert result.returncode == 0, f"{line}\n{result.stderr}"
        assert result.stdout, line


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "cpp")])
def test_cpp(page: str, conv: Path, work: Path) -> None:
    prefix = os.environ.get("JITNEY_CPP_PREFIX")
    if prefix is None:
        message = "the C++ package is not installed; `make test` installs it and sets JITNEY_CPP_PREFIX"
        if os.environ.get("JITNEY_TEST_ALL"):
            pytest.fail(message)
        pytest.skip(message)
    shutil.copy(conv, work / "model.jny")
    jitney.convert(work / "stream.onnx", states={"h": "h_out"}, verify=False)
    for block in blocks(page, "cpp"):
        shutil.copytree(REPOSITORY / "examples" / "cpp", work / "app", dirs_exist_ok=True)
        (work / "app" / "main.cpp").write_text(block, encoding="utf-8")
        configure = ["cmake", "-S", "app", "-B", "app-build", f"-DCMAKE_PREFIX_PATH={prefix}"]
        for command in (configure, ["cmake", "--build", "app-build"], ["app-build/classify"]):
            result = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
            assert result.returncode == 0, result.stdout + result.stderr
        assert result.stdout


def test_readme_links_lead_somewhere() -> None:
    for page in PAGES:
        text = (REPOSITORY / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert ((REPOSITORY / page).parent / target).exists(), f"{page}: {target}"
