"""jitney.onnx_backend: ONNX's own runner accepts it, and it does what onnx.backend.base says."""

from __future__ import annotations

import unittest

import numpy as np
import onnx.backend.test
import pytest
from onnx import TensorProto, helper
from onnx_models import make_onnx

from jitney import InvalidInput, Unsupported, onnx_backend


def test_onnx_own_runner() -> None:
    suite = onnx.backend.test.BackendTest(onnx_backend, __name__)
    suite.include("^test_(relu|matmul_2d|top_k|constant|expand_shape_model1)_cpu$")
    result = unittest.TestResult()
    suite.test_suite.run(result)
    ran = result.testsRun - len(result.skipped)
    assert ran == 5 and result.wasSuccessful(), (ran, result.errors, result.failures)


def model(op: str = "Gemm") -> onnx.ModelProto:
    nodes = [helper.make_node(op, ["x", "w"], ["y z"]), helper.make_node("Relu", ["y z"], ["r"])]
    inputs = [("x", TensorProto.FLOAT, ["N", 2]), ("w", TensorProto.FLOAT, [2, 3])]
    outputs = [("r", TensorProto.FLOAT, ["N", 3]), ("y z", TensorProto.FLOAT, ["N", 3])]
    return make_onnx(nodes, inputs, outputs, {"w": np.array([[1, 2, 3], [4, -5, 6]], np.float32)})


def test_a_model() -> None:
    prepared = onnx_backend.prepare(model(), "CPU", threads=1)
    x = np.array([[1, 1], [0, 1]], np.float32)
    wanted = np.array([[5, -3, 9], [4, -5, 6]], np.float32)
    for fed in (x, [x], (x,), {"x": x}, [x, np.array([[1, 2, 3], [4, -5, 6]], np.float32)]):
        outputs = prepared.run(fed)
        np.testing.assert_array_equal(outputs[1], wanted)
        np.testing.assert_array_equal(outputs["r"], np.maximum(wanted, 0))
    np.testing.assert_array_equal(onnx_backend.run_model(model(), [x])[1], wanted)


def test_what_cannot_be_done_is_said() -> None:
    x = np.zeros((1, 2), np.float32)
    prepared = onnx_backend.prepare(model())
    with pytest.raises(InvalidInput, match="the model takes 1: x"):
        prepared.run([x, x, x])
    with pytest.raises(InvalidInput, match="'w' has a default"):
        prepared.run([x, np.zeros((2, 3), np.float32)])
    with pytest.raises(InvalidInput, match="CUDA"):
        onnx_backend.prepare(model(), "CUDA:0")
    with pytest.raises(Unsupported, match="not known"):
        onnx_backend.prepare(model("NoSuchOp"))
    assert onnx_backend.supports_device("CPU") and not onnx_backend.supports_device("CUDA")
    assert onnx_backend.is_compatible(model()) and not onnx_backend.is_compatible(model(), "CUDA")
    assert not onnx_backend.is_compatible(model("NoSuchOp"))


def test_a_node() -> None:
    x = np.array([[1, 2], [3, 4]], np.float32)
    (y,) = onnx_backend.run_node(helper.make_node("ReduceSum", ["x"], ["y"], axes=[1], keepdims=0), [x], opset_version=11)
    np.testing.assert_array_equal(y, [3, 7])
    (y,) = onnx_backend.run_node(helper.make_node("Clip", ["x", "", "most"], ["y"]), [x, None, np.float32(2)])
    np.testing.assert_array_equal(y, [[1, 2], [2, 2]])
    (y,) = onnx_backend.run_node(helper.make_node("Add", ["x", "x"], ["y"]), {"x": x})
    np.testing.assert_array_equal(y, x + x)
    with pytest.raises(InvalidInput, match="'b' of the Add node"):
        onnx_backend.run_node(helper.make_node("Add", ["x", "b"], ["y"]), [x])
