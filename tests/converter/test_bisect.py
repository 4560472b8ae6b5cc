"""`convert --bisect` names the pass or the node that goes wrong: faults are put in, and must be found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from op_check import floats, int64s, model_of, value

import jitney
from jitney import Mismatch
from jitney.converter import bisect, convert, passes
from jitney.converter.ir import Model, Value
from jitney.converter.lower import registry
from jitney.converter.lower.node import OnnxNode
from jitney.converter.passes import Pass


def network(depth: int = 1) -> onnx.ModelProto:
    """Convolution, activation and so on; at the end a mean."""
    nodes, constants, last = [], [], "x"
    for i in range(depth):
        nodes += [
            helper.make_node("Conv", [last, f"w{i}", f"b{i}"], [f"c{i}"], name=f"conv{i}", pads=[1, 1, 1, 1]),
            helper.make_node("HardSigmoid", [f"c{i}"], [f"s{i}"], name=f"gate{i}"),
            helper.make_node("Mul", [f"c{i}", f"s{i}"], [f"m{i}"], name=f"product{i}"),
        ]
        constants += [
            numpy_helper.from_array(floats(3, 3, 3, 3, seed=i) / 3, f"w{i}"),
            numpy_helper.from_array(floats(3, seed=i), f"b{i}"),
        ]
        last = f"m{i}"
    nodes.append(helper.make_node("GlobalAveragePool", [last], ["y"], name="pool"))
    return model_of(nodes, [value("x", ["N", 3, 8, 8])], [value("y")], constants)


def break_pass(monkeypatch: pytest.MonkeyPatch, position: int) -> None:
    """A pass that doubles the bias of the last convolution, once."""

    def spoil(model: Model) -> int:
        for node in reversed(model.graph.nodes):
            bias = node.input(2)
            if node.op == "conv" and bias is not None and bias.constant is not None and "spoilt" not in bias.name:
                node.inputs[2] = Value("spoilt", bias.dtype, bias.shape, bias.constant * 2)
                return 1
            if node.op == "conv":
                return 0
        return 0

    listed = list(passes.PASSES)
    listed.insert(position, Pass("spoil", spoil, "a fault"))
    monkeypatch.setattr(passes, "PASSES", tuple(listed))


@pytest.mark.parametrize("position", [0, 5, len(passes.PASSES)])
def test_a_faulty_pass_is_named(monkeypatch: pytest.MonkeyPatch, position: int) -> None:
    break_pass(monkeypatch, position)
    found = bisect(network(3))
    assert (found.stage, found.pass_name, found.pass_run) == ("pass", "spoil", position + 1)
    assert found.node is not None and found.node.node in ("conv2", "product2") and not found.ok
    assert "the pass at fault is spoil" in str(found) and found.to_dict()["pass"] == "spoil"


def break_lowering(monkeypatch: pytest.MonkeyPatch, op: str, faulty: Callable[[OnnxNode], Value]) -> None:
    monkeypatch.setitem(registry._lowerings, ("", op), [(1, faulty)])


def test_a_faulty_lowering_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    break_lowering(monkeypatch, "HardSigmoid", lambda node: node.emit("hard_sigmoid", [node.operand(0)], alpha=0.21, beta=0.5))
    found = bisect(network(40))
    assert found.stage == "lowering" and found.node is not None
    assert (found.node.node, found.node.op, found.node.opset, found.node.kernel) == ("gate0", "HardSigmoid", "17", "")
    assert "HardSigmoid node 'gate0' (opset 17) is the first that is off: s0" in str(found)
    with pytest.raises(Mismatch) as caught:
        convert(network(), tmp_path / "m.jny")
    assert "--bisect" in caught.value.hint


def test_a_node_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The faulty lowering would suit another batch size than the one that is run."""
    target = [5, 3, 8, 8]
    break_lowering(
        monkeypatch, "HardSigmoid", lambda node: node.emit("reshape", [node.operand(0), node.int64s(target)], allow_zero=0)
    )
    found = bisect(network())
    assert found.stage == "lowering" and found.node is not None and found.node.check is None
    assert found.node.node == "gate0" and "fails:" in str(found)


def test_a_faulty_kernel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Faulty(jitney.Session):
        def run(self, *arguments: Any, **options: Any) -> dict[str, Any]:
            results = super().run(*arguments, **options)
            wrong = 0.1 if self.backend_report.backend == "cpu" else 0
            return {name: array if name == "c0" else array + np.float32(wrong) for name, array in results.items()}

    monkeypatch.setattr(jitney, "Session", Faulty)
    found = bisect(network())
    assert found.stage == "lowering" and found.node is not None
    assert found.node.node == "gate0" and "hard_sigmoid" in found.node.kernel
    assert "the reference backend gives the right result" in str(found)
    described = found.to_dict()["node"]
    assert (
        described["error"] and described["error"] in str(found) and described["check"]["error"] > described["check"]["tolerance"]
    )


def test_nothing_is_wrong() -> None:
    found = bisect(network())
    assert found.ok and found.stage == "nothing" and found.node is None
    assert bisect(network(), dynamic_batch=True).ok


def test_faults_of_the_evaluator_are_not_bisected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jitney.converter.reference.RUNNERS", ("evaluator",))
    node = helper.make_node("GridSample", ["x", "grid"], ["y"], mode="cubic", padding_mode="border")
    model = model_of([node], [value("x", [1, 1, 4, 5]), value("grid", [1, 3, 3, 2])], [value("y")], opset=20)
    found = bisect(model, sample={"x": floats(1, 1, 4, 5), "grid": 1.5 * floats(1, 3, 3, 2)})
    assert found.stage == "not verifiable" and "evaluator" in found.reason


def test_what_no_reference_runs_cannot_be_bisected() -> None:
    target = numpy_helper.from_array(int64s(-1, 7919), "t")
    model = model_of([helper.make_node("Reshape", ["x", "t"], ["y"])], [value("x", ["N", "M"])], [value("y")], [target])
    found = bisect(model)
    assert found.ok and found.stage == "not verifiable" and found.reason
