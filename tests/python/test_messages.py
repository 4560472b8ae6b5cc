"""Failures of planning and running name the node, its op, opset and operands, and say what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import make_onnx

import jitney

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64

x = np.arange(6, dtype=np.float32).reshape(2, 3)


def node(op: str, inputs: list[str], **attributes: object) -> list[onnx.NodeProto]:
    """The op between two that nothing fuses, so that its operands and results lie in the arena."""
    inner = ["e" if name == "x" else name for name in inputs]
    return [
        helper.make_node("Exp", ["x"], ["e"], name="before"),
        helper.make_node(op, inner, ["t"], name="culprit", **attributes),
        helper.make_node("Exp", ["t"], ["y"], name="after"),
    ]


def ints(*items: int) -> np.ndarray:
    return np.array(items, np.int64)


TOP_K = [helper.make_node("TopK", ["x", "i"], ["y", "p"], name="culprit")]
CASES = {
    "gather": (node("Gather", ["x", "i"]), {"i": ints(7)}, "gather", ("float32[2, 3]", "i: int64[1]")),
    "gather_nd": (node("GatherND", ["x", "i"]), {"i": ints(-9)}, "gather_nd", ("float32[2, 3]", "i: int64[1]")),
    "scatter": (node("ScatterND", ["x", "i", "u"]), {"i": np.array([[5]])}, "scatter_nd", ("[2, 3]", "[1, 1]", "[1, 3]")),
    "reshape": (node("Reshape", ["x", "i"]), {"i": ints(4, 4)}, "reshape", ("float32[2, 3]", "i: int64[2]")),
    "concat": (node("Concat", ["x", "u"], axis=0), {"u": np.zeros((1, 4), np.float32)}, "concat", ("[2, 3]", "[1, 4]")),
    "expand": (node("Expand", ["x", "i"]), {"i": ints(5, 5)}, "expand", ("float32[2, 3]", "i: int64[2]")),
    "slice": (node("Slice", ["x", "i", "i", "i"]), {"i": ints(9)}, "slice", ("float32[2, 3]", "i: int64[1]")),
    "top_k": (TOP_K, {"i": ints(4)}, "top_k", ("x: float32[2, 3]", "i: int64[1]")),
    "matmul": (node("MatMul", ["x", "u"]), {"u": np.zeros((2, 2), np.float32)}, "matmul", ("float32[2, 3]", "u: float32[2, 2]")),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_failures_of_planning_and_running(case: str, tmp_path: Path) -> None:
    nodes, fed, op, words = CASES[case]
    feeds = {"x": x, "i": ints(0), "u": np.zeros((1, 3), np.float32)} | fed
    read = {name for each in nodes for name in each.input}
    feeds = {name: array for name, array in feeds.items() if name in read}
    inputs = [
        (name, INT64 if array.dtype == np.int64 else FLOAT, [f"{name}{axis}" for axis in range(array.ndim)])
        for name, array in feeds.items()
    ]
    jitney.convert(make_onnx(nodes, inputs, [("y", FLOAT, None)]).SerializeToString(), tmp_path / "m.jny", verify=False)
    for backend in ("cpu", "reference"):
        with jitney.Session(tmp_path / "m.jny", backend=backend) as session, pytest.raises(jitney.InvalidInput) as caught:
            session.run(feeds)
        error = caught.value
        assert (error.node, error.op, error.opset) == ("culprit", op, "ai.onnx 17")
        assert all(word in ", ".join(error.inputs) for word in words), error.inputs
        assert error.message and error.hint
        assert f"in {op} node 'culprit', opset ai.onnx 17, of " in str(error)
