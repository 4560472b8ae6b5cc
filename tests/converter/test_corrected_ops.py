"""onnx's evaluator, as corrected, agrees with ONNX Runtime where its own ops do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from op_check import Array, assert_same, floats, make_model, model_of, value
from test_ops_rnn import feeds, network, results

from jitney.converter.corrected_ops import CORRECTED


def compare(model: onnx.ModelProto, fed: dict[str, Array]) -> None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    actual = ReferenceEvaluator(model, new_ops=[*CORRECTED]).run(None, fed)
    for expected, got in zip(session.run(None, fed), actual, strict=True):
        assert_same(np.asarray(got), expected)


NUMBERS = {"activation_alpha": [0.3, 0.2], "activation_beta": [0.45]}
CASES: list[tuple[str, int, dict[str, Any]]] = [
    ("RNN", 1, {}),
    ("RNN", 1, {"direction": "reverse", "clip": 0.3}),
    ("RNN", 2, {"activations": ["Relu", "ScaledTanh"], "activation_alpha": [0.9], "activation_beta": [0.8]}),
    ("GRU", 1, {"linear_before_reset": 1, "clip": 0.5}),
    ("GRU", 2, {"activations": ["HardSigmoid", "LeakyRelu", "Sigmoid", "Softsign"], **NUMBERS}),
    ("LSTM", 1, {"input_forget": 1, "clip": 0.4}),
    ("LSTM", 2, {"activations": ["HardSigmoid", "Tanh", "Elu", "Sigmoid", "Softplus", "Tanh"], **NUMBERS}),
]


@pytest.mark.parametrize(("op", "directions", "attributes"), CASES)
def test_recurrence(op: str, directions: int, attributes: dict[str, Any]) -> None:
    operands = network(op, batch=4, directions=directions)
    operands[4] = np.array([3, 1, 0, 2], np.int32)
    attributes = {"hidden_size": 5, **({"direction": "bidirectional"} if directions == 2 else {}), **attributes}
    compare(make_model(op, operands, opset=14, outputs=results(op), attributes=attributes), feeds(operands))


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("attributes", [{}, {"axis": 0}, {"axis": 1}, {"axis": 2}, {"axis": -1}])
def test_axes_that_count_as_one(op: str, opset: int, attributes: dict[str, Any]) -> None:
    compare(make_model(op, [floats(2, 3, 4)], opset=opset, attributes=attributes), {"x0": floats(2, 3, 4)})


@pytest.mark.parametrize("p", [1, 2])
def test_norms(p: int) -> None:
    compare(make_model("LpNormalization", [floats(3, 4)], opset=17, attributes={"p": p, "axis": 0}), {"x0": floats(3, 4)})


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (1, 2, 3)])
def test_loops_stack_what_they_gather(shape: tuple[int, ...]) -> None:
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["on"]),
            helper.make_node("Add", ["state", "x"], ["next"]),
            helper.make_node("Mul", ["next", "x"], ["seen"]),
        ],
        "body",
        [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("state", shape)],
        [value("on", [], TensorProto.BOOL), value("next", shape), value("seen", shape)],
    )
    node = helper.make_node("Loop", ["count", "", "x"], ["last", "all"], body=body)
    count = numpy_helper.from_array(np.array(4), "count")
    compare(
        model_of([node], [value("x", shape)], [value("last"), value("all")], [count]),
        {"x": np.asarray(np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape) + 1)},
    )
