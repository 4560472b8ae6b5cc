"""Small models that the tests share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import make_onnx
from ort_contract import load

import jitney

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def linear(folder: Path) -> Path:
    """y [N, 3] = x [N, 4] · w + b, and r = relu(y)."""
    rng = np.random.default_rng(0)
    constants = {"w": rng.standard_normal((4, 3), np.float32), "b": rng.standard_normal(3, np.float32)}
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["y"], name="product"),
        helper.make_node("Relu", ["y"], ["r"], name="rectify"),
    ]
    proto = make_onnx(
        nodes,
        [("x", TensorProto.FLOAT, ["N", 4])],
        [("y", TensorProto.FLOAT, ["N", 3]), ("r", TensorProto.FLOAT, ["N", 3])],
        constants,
        {"author": "test"},
    )
    onnx.save(proto, folder / "linear.onnx")
    jitney.convert(folder / "linear.onnx", folder / "linear.jny")
    return folder / "linear.jny"


@pytest.fixture(scope="session")
def conv(folder: Path) -> Path:
    """A picture network: y = softmax over 5 classes of x [N, 3, H, W]."""
    rng = np.random.default_rng(1)
    constants = {
        "w0": rng.standard_normal((8, 3, 3, 3), np.float32) / 5,
        "b0": rng.standard_normal(8, np.float32),
        "w1": rng.standard_normal((8, 5), np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w0", "b0"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("MatMul", ["f", "w1"], ["m"]),
        helper.make_node("Softmax", ["m"], ["y"]),
    ]
    proto = make_onnx(nodes, [("x", TensorProto.FLOAT, ["N", 3, "H", "W"])], [("y", TensorProto.FLOAT, ["N", 5])], constants)
    onnx.save(proto, folder / "conv.onnx")
    jitney.convert(folder / "conv.onnx", folder / "conv.jny")
    return folder / "conv.jny"


@pytest.fixture(scope="session")
def add(folder: Path) -> Path:
    """total = left + right, both [N]."""
    proto = make_onnx(
        [helper.make_node("Add", ["left", "right"], ["total"])],
        [("left", TensorProto.FLOAT, ["N"]), ("right", TensorProto.FLOAT, ["N"])],
        [("total", TensorProto.FLOAT, ["N"])],
    )
    jitney.convert(proto.SerializeToString(), folder / "add.jny")
    return folder / "add.jny"


@pytest.fixture(scope="session")
def ort_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where jitney.ort keeps converted models during the tests."""
    folder = tmp_path_factory.mktemp("ort_cache")
    os.environ["JITNEY_CACHE"] = str(folder)
    return folder


@pytest.fixture
def ort(request: pytest.FixtureRequest, ort_cache: Path) -> ModuleType:
    """jitney.ort, or the module that the test's parameter names."""
    return load(getattr(request, "param", "jitney.ort"))
