"""The package as such: what importing it costs, its stubs, its public names."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import jitney
from jitney import _core

FOLDER = Path(jitney.errors.__file__).parent


def test_import_is_light() -> None:
    heavy = ["onnx", "rich", "typer", "cv2", "ml_dtypes", "onnxruntime", "jitney.converter", "jitney.cli"]
    code = f"import jitney, sys; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_errors_need_no_compiled_code() -> None:
    source = (FOLDER / "errors.py").read_text(encoding="utf-8")
    imported = [node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert [ast.unparse(node) for node in imported] == [
        "from __future__ import annotations",
        "from collections.abc import Sequence",
    ]


def test_converting_without_onnx_names_the_extra() -> None:
    code = """
import importlib.util, jitney
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "onnx" else find(name, *rest)
try:
    jitney.convert
except jitney.Unsupported as error:
    print(error.hint)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == 'pip install "jitney[convert]"'


def test_public_names() -> None:
    assert set(jitney.__all__) <= set(dir(jitney))
    assert all(getattr(jitney, name) is not None for name in jitney.__all__)
    with pytest.raises(AttributeError, match="no attribute 'sessoin'"):
        jitney.sessoin  # noqa: B018


def test_typed() -> None:
    assert (FOLDER / "py.typed").is_file()


def test_stubs_match_the_core() -> None:
    tree = ast.parse((FOLDER / "_core.pyi").read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef) and not node.bases}
    assert functions | set(classes) == {name for name in vars(_core) if not name.startswith("_")}
    for name, node in classes.items():
        declared = {item.name for item in node.body if isinstance(item, ast.FunctionDef)} - {"__init__"}
        assert declared == {member for member in vars(getattr(_core, name)) if not member.startswith("_")}


def test_schemas_have_the_declared_keys() -> None:
    names = _core.ops()
    assert names == sorted(names)
    for name in names:
        schema = _core.op_schema(name)
        assert set(schema) == {"inputs", "outputs", "attributes", "value_inputs", "data_dependent", "pure"}
    assert _core.op_schema("matmul")["inputs"][0] == 2
    with pytest.raises(jitney.Unsupported, match="no op 'matmulx'"):
        _core.op_schema("matmulx")
