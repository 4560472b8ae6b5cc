"""The harness that compares runtimes: its tables, its measure of agreement, and a short race of two runtimes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from side_by_side import models, tables
from side_by_side.agreement import largest_error
from side_by_side.race import Row, race


def saved(path: Path, *arrays: np.ndarray) -> Path:
    np.savez(path, *arrays)
    return path


def test_agreement(tmp_path: Path) -> None:
    x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    first = saved(tmp_path / "a.npz", x)
    assert largest_error(first, saved(tmp_path / "b.npz", x.reshape(2, 12))) == 0
    worse = x.copy()
    worse[0, 0, 0, 0] += 1.1
    assert largest_error(first, saved(tmp_path / "c.npz", worse)) == pytest.approx(0.1)  # the first channel's largest is 11
    worse[0, 0, 0, 0] = np.nan
    for other in ((worse,), (x[:, :1],), (x, x)):
        assert largest_error(first, saved(tmp_path / "d.npz", *other)) == float("inf")


def test_tables() -> None:
    rows = [
        Row("ort", ms=4.0, ratio=1.0, first_load_ms=20, second_load_ms=10, memory_mb=30),
        Row("mnn", error="conversion failed"),
        Row("ncnn", ms=1.0, difference=0.5, ratio=0.25),
        Row("jitney", ms=3.0, ratio=0.75, first_load_ms=5, second_load_ms=4, memory_mb=8),
    ]
    lines = tables.speed({"net": rows}, 1).splitlines()
    assert lines[0] == "| ms, 1 thread | ONNX Runtime | MNN | ncnn | Jitney | Jitney to the fastest peer |"
    assert lines[2] == "| net | 4.00 | – | (1.00) | 3.00 | 0.75 |"
    assert lines[3].endswith("**0.75** |")
    assert "| net | 20 / 10; 30 | – |" in tables.costs({"net": rows}, 1)
    assert tables.failures({"net": rows}) == [
        "net: MNN: conversion failed",
        "net: ncnn: results differ by 5.0e-01; not counted as a peer",
    ]


def test_a_race(tmp_path: Path) -> None:
    weight = onnx.numpy_helper.from_array(np.eye(8, dtype=np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [weight],
    )
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    model = models.find(str(path), tmp_path, {"x": (4, 8)})
    rows = {row.runtime: row for row in race(model, ["ort", "jitney"], 1, 2, tmp_path / "cache")}
    for row in rows.values():
        assert row.error == "" and len(row.round_ms) == 2 and row.difference == 0
        assert row.ms >= row.least_ms > 0 and row.first_load_ms > 0 and row.memory_mb > 0
    assert rows["ort"].ratio == 1 and rows["jitney"].ratio is not None


def test_what_cannot_take_part_says_why(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    graph = helper.make_graph(
        [helper.make_node("NoSuchOp", ["x"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
    )
    onnx.save(helper.make_model(graph), path)
    (row,) = race(models.find(str(path), tmp_path, {}), ["jitney"], 1, 1, tmp_path / "cache")
    assert row.error.startswith("conversion failed") and "NoSuchOp" in row.error
    with pytest.raises(FileNotFoundError, match="mobilenet_v2"):
        models.find("no_such_model", tmp_path, {})
