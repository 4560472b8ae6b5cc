"""jitney.ort's exceptions: classes, numbers and words. Run on ONNX Runtime too."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from onnx import helper
from ort_contract import INT64, adding, both, exceptions, model, ones, session, value_info

import jitney

NAMES = [
    "EPFail",
    "EngineError",
    "Fail",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "ModelLoaded",
    "NoModel",
    "NoSuchFile",
    "NotImplemented",
    "RuntimeException",
]


@both
@pytest.mark.parametrize("name", NAMES)
def test_classes(ort: ModuleType, name: str) -> None:
    kind = getattr(exceptions(ort), name)
    assert issubclass(kind, Exception)
    assert not issubclass(kind, (RuntimeError, ValueError, OSError))
    assert kind.__name__ == name
    assert str(kind("words")) == "words"
    others = [getattr(exceptions(ort), other) for other in NAMES if other != name]
    assert not any(issubclass(kind, other) for other in others)
    again = pickle.loads(pickle.dumps(kind("words")))
    assert type(again) is kind


@both
def test_a_missing_file(ort: ModuleType, tmp_path: Path) -> None:
    words = r"^\[ONNXRuntimeError\] : 3 : NO_SUCHFILE : Load model from .*none.onnx failed"
    for path in (tmp_path / "none.onnx", str(tmp_path / "none.onnx")):
        with pytest.raises(exceptions(ort).NoSuchFile, match=words):
            ort.InferenceSession(path)


@both
@pytest.mark.parametrize("size", [17, 50])
def test_a_damaged_file(ort: ModuleType, tmp_path: Path, size: int) -> None:
    data = adding().SerializeToString()[:size]
    (tmp_path / "m.onnx").write_bytes(data)
    for source in (tmp_path / "m.onnx", data, b"hello world, this is no model", str(tmp_path)):
        with pytest.raises(
            exceptions(ort).InvalidProtobuf, match=r"^\[ONNXRuntimeError\] : 7 : INVALID_PROTOBUF : .*parsing failed"
        ):
            ort.InferenceSession(source)


@both
def test_an_empty_file(ort: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").touch()
    for source in (tmp_path / "m.onnx", b""):
        with pytest.raises(exceptions(ort).InvalidArgument, match=r"2 : INVALID_ARGUMENT : .*No graph was found in the protobuf"):
            ort.InferenceSession(source)


@both
@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda node: setattr(node, "op_type", "Nonsense"), "InvalidGraph"),
        (lambda node: setattr(node, "domain", "my.domain"), "InvalidGraph"),
        (lambda node: node.input.__setitem__(1, "undefined"), "InvalidArgument"),
        (lambda node: node.output.__setitem__(0, "other"), None),
        (lambda node: node.output.__setitem__(0, "left"), "Fail"),
        (lambda node: node.input.__setitem__(1, "result"), "Fail"),
    ],
)
def test_a_broken_graph(ort: ModuleType, change: Any, name: str | None) -> None:
    proto = adding()
    change(proto.graph.node[0])
    wanted = getattr(exceptions(ort), name) if name else (exceptions(ort).Fail, exceptions(ort).InvalidArgument)
    with pytest.raises(wanted, match=r"^\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : "):
        session(ort, proto)


@both
def test_a_model_without_opsets(ort: ModuleType) -> None:
    proto = adding()
    del proto.opset_import[:]
    with pytest.raises(exceptions(ort).Fail):
        session(ort, proto)


def _failing(op: str, sizes: list[int]) -> tuple[Any, dict[str, np.ndarray]]:
    node = helper.make_node(op, ["x", "s"], ["y"], name="culprit")
    proto = model([node], [value_info("x", ["A", "B"]), value_info("s", [2], INT64)], [value_info("y", None)])
    return proto, {"x": ones(2, 3), "s": np.array(sizes, np.int64)}


@both
@pytest.mark.parametrize(
    ("op", "sizes", "name"),
    [
        ("Reshape", [4, 4], "Fail"),
        ("Gather", [4, 4], "InvalidArgument"),
        ("Expand", [2**24, 2**27], "Fail"),
    ],
)
def test_a_failing_node(ort: ModuleType, op: str, sizes: list[int], name: str) -> None:
    proto, feed = _failing(op, sizes)
    if op == "Expand":
        feed["x"] = ones(1, 1)
    loaded = session(ort, proto)
    with pytest.raises(getattr(exceptions(ort), name)) as caught:
        loaded.run(None, feed)
    text = str(caught.value)
    assert "Non-zero status code returned while running" in text
    if op == "Expand":
        assert "Failed to allocate memory" in text
    else:
        assert "Name:'culprit' Status Message: " in text


def test_failures_are_of_all_classes_that_programs_catch(ort: ModuleType, tmp_path: Path) -> None:
    kinds = exceptions(ort)
    with pytest.raises(kinds.InvalidArgument) as unreadable:
        ort.InferenceSession(b"garbage, no model at all")
    assert isinstance(unreadable.value, kinds.InvalidProtobuf)
    proto, feed = _failing("Reshape", [4, 4])
    with pytest.raises(kinds.Fail) as failing:
        session(ort, proto).run(None, feed)
    assert isinstance(failing.value, kinds.RuntimeException)
    assert failing.value.node == "culprit"
    for error in (unreadable.value, failing.value):
        assert isinstance(error, jitney.Error)


def test_unsupported_models(ort: ModuleType) -> None:
    proto = adding()
    proto.graph.node[0].op_type = "Nonsense"
    with pytest.raises(exceptions(ort).NotImplemented) as caught:
        session(ort, proto)
    assert "Nonsense" in str(caught.value)
    assert isinstance(caught.value, exceptions(ort).InvalidGraph)


def test_the_other_format_of_onnx_runtime(ort: ModuleType) -> None:
    with pytest.raises(exceptions(ort).NotImplemented, match=r"own format \(\.ort\)"):
        ort.InferenceSession(b"\x18\0\0\0ORTM" + bytes(100))
