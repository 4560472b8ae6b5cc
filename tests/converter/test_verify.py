"""Verification: its three outcomes, its tolerance, its inputs."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from op_check import convert_bytes, floats, model_of, value

from jitney.converter import convert as convert_package
from jitney.converter import verify
from jitney.converter.compare import check_output
from jitney.converter.convert import convert
from jitney.converter.infer import infer_shapes
from jitney.converter.load import Loaded, load
from jitney.converter.lower import lower
from jitney.converter.reference import Reference
from jitney.converter.sample import input_specs, random_feeds
from jitney.errors import InvalidInput, Mismatch

VERIFY = importlib.import_module("jitney.converter.verify")  # the package's function of that name hides the module


def model_with(op: str, **attributes: object) -> onnx.ModelProto:
    return model_of([helper.make_node(op, ["x"], ["y"], **attributes)], [value("x", ["N", 3])], [value("y")])


def test_verified(tmp_path: Path) -> None:
    report = convert(model_with("Relu"), tmp_path / "m.jny")
    assert report.verification.outcome == "verified"
    assert "verified" in str(report) and report.to_dict()["verification"]["outcome"] == "verified"
    assert convert_package is convert


def test_mismatch_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = model_with("Neg")
    monkeypatch.setattr(VERIFY, "Reference", lambda source, deadline: Reference(load(wrong), deadline))
    with pytest.raises(Mismatch, match="y: error"):
        convert(model_with("Relu"), tmp_path / "m.jny")
    assert list(tmp_path.iterdir()) == []
    report = convert(model_with("Relu"), tmp_path / "m.jny", verify=False)
    assert report.verification.outcome == "skipped" and (tmp_path / "m.jny").exists()


def test_verify_of_a_file(tmp_path: Path) -> None:
    onnx.save(model_with("Relu"), tmp_path / "m.onnx")
    (tmp_path / "good.jny").write_bytes(convert_bytes(model_with("Relu")))
    (tmp_path / "bad.jny").write_bytes(convert_bytes(model_with("LeakyRelu")))
    assert verify(tmp_path / "good.jny", tmp_path / "m.onnx").outcome == "verified"
    assert verify(tmp_path / "bad.jny", tmp_path / "m.onnx").outcome == "mismatch"


def test_what_no_reference_can_run_is_not_verifiable(tmp_path: Path) -> None:
    nodes = [helper.make_node("Reshape", ["x", "target"], ["y"])]
    target = numpy_helper.from_array(np.array([-1, 7919], np.int64), "target")
    report = convert(model_of(nodes, [value("x", ["N", "M"])], [value("y")], [target]), tmp_path / "m.jny")
    assert report.verification.outcome == "not verifiable"
    installed = importlib.util.find_spec("onnxruntime") is not None
    assert ("pip install onnxruntime" in report.verification.reason) != installed
    assert "cannot run" in report.verification.reason and (tmp_path / "m.jny").exists()


def test_the_time_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jitney.converter.reference.RUNNERS", ("evaluator",))
    model = model_with("Relu")
    lowered = lower(load(model))
    subject = VERIFY.Subject(convert_bytes(model), load(model), input_specs(lowered), lambda variant: b"")
    verification = VERIFY.verify_model(subject, budget=0.0)
    assert verification.outcome == "not verifiable" and "onnx" in verification.reason.lower()


def test_onnx_own_evaluator_serves_where_onnx_runtime_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jitney.converter.reference.RUNNERS", ("evaluator",))
    operands = ["x", "s", "b", "m", "v"]
    constants = [numpy_helper.from_array(np.abs(floats(3, seed=i)) + 0.1, name) for i, name in enumerate(operands[1:])]
    node = helper.make_node("BatchNormalization", operands, ["y"], momentum=0.5)
    report = convert(model_of([node], [value("x", ["N", 3, 4, 4])], [value("y")], constants, opset=9), tmp_path / "m.jny")
    assert report.verification.outcome == "verified" and "evaluator" in report.verification.reference


def test_a_sample(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", x=floats(2, 3))
    assert convert(model_with("Relu"), tmp_path / "m.jny", sample=tmp_path / "s.npz").verification.outcome == "verified"
    assert convert(model_with("Relu"), tmp_path / "m.jny", sample={"x": floats(5, 3)}).verification.outcome == "verified"
    np.savez(tmp_path / "wrong.npz", z=floats(2, 3))
    for sample in (tmp_path / "wrong.npz", tmp_path / "none.npz", tmp_path / "m.jny"):
        with pytest.raises(InvalidInput):
            convert(model_with("Relu"), tmp_path / "m.jny", sample=sample)


def test_a_picture_as_sample(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "p.png"), np.random.default_rng(0).integers(0, 256, (50, 70, 3)).astype(np.uint8))
    for shape in ([1, 3, 32, 64], ["N", 3, "H", "W"], [1, 32, 32, 3], [2, 1, 16, 16]):
        model = model_of([helper.make_node("Relu", ["x"], ["y"])], [value("x", shape)], [value("y")])
        assert convert(model, tmp_path / "m.jny", sample=tmp_path / "p.png").verification.outcome == "verified"


def test_tolerance_is_relative_to_each_piece() -> None:
    expected = np.stack([np.full((2, 4), 1000.0), np.full((2, 4), 1e-3)], axis=1).astype(np.float32)
    slightly, wrong = expected.copy(), expected.copy()
    slightly[:, 0] += 0.05
    wrong[0, 1, 2] += 1e-5
    assert check_output("y", expected, slightly, expected).ok
    verdict = check_output("y", expected, wrong, expected)
    assert not verdict.ok and verdict.place == "axis 1 index 1"


def test_tolerance_grows_with_the_reference_own_unrest() -> None:
    expected = np.ones((2, 3), np.float32)
    assert not check_output("y", expected, expected + 1e-3, expected).ok
    assert check_output("y", expected, expected + 1e-3, expected + 5e-4).ok


def test_nan_infinity_and_types() -> None:
    odd = np.array([np.nan, np.inf, -np.inf, 1.0], np.float32)
    assert check_output("y", odd, odd.copy(), odd).ok
    assert not check_output("y", odd, np.array([1, np.inf, -np.inf, 1], np.float32), odd).ok
    assert not check_output("y", odd, np.array([np.nan, np.inf, np.inf, 1], np.float32), odd).ok
    assert not check_output("y", odd, odd.astype(np.float64), odd).ok
    assert not check_output("y", odd, odd[:3], odd).ok
    assert check_output("y", np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)).ok
    assert check_output("y", np.full(3, 1e-8, np.float32), np.zeros(3, np.float32), np.zeros(3, np.float32)).ok


def test_tied_scores_are_compared_at_the_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rankings of nearly equal scores are both right."""
    nodes = [
        helper.make_node("Mul", ["x", "tiny"], ["scores"]),
        helper.make_node("ArgMax", ["scores"], ["y"], axis=1, keepdims=0),
    ]
    tiny = numpy_helper.from_array(np.array(1e-30, np.float32), "tiny")
    model = model_of(nodes, [value("x", ["N", 50])], [value("y")], [tiny])
    flipped = onnx.ModelProto()
    flipped.CopyFrom(model)
    flipped.graph.node[1].op_type = "ArgMin"

    def reference(source: Loaded, deadline: float) -> Reference:
        return Reference(load(flipped) if source.proto.graph.output[0].name == "y" else source, deadline)

    monkeypatch.setattr(VERIFY, "Reference", reference)
    report = convert(model, tmp_path / "m.jny")
    assert report.verification.outcome == "verified"
    assert "compared at scores" in str(report)


def test_integers_are_drawn_within_what_consumers_allow() -> None:
    nodes = [
        helper.make_node("Gather", ["words", "ids"], ["w"]),
        helper.make_node("Unsqueeze", ["types", "axes"], ["t1"]),
        helper.make_node("Squeeze", ["t1", "axes"], ["t2"]),
        helper.make_node("Gather", ["kinds", "t2"], ["k"]),
        helper.make_node("Cast", ["mask"], ["m"], to=TensorProto.FLOAT),
        helper.make_node("TopK", ["w0", "k_count"], ["top", ""], axis=0),
        helper.make_node("Reshape", ["w0", "target"], ["r"]),
        helper.make_node("Add", ["w", "k"], ["y"]),
    ]
    inputs = [value(name, ["N", "S"], TensorProto.INT64) for name in ("ids", "types", "mask")]
    inputs += [
        value("k_count", [1], TensorProto.INT64),
        value("target", [1], TensorProto.INT64),
        value("flag", [2], TensorProto.BOOL),
    ]
    arrays = {"words": floats(11, 4), "kinds": floats(2, 4), "axes": np.array([0]), "w0": floats(5)}
    constants = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    model = lower(load(model_of(nodes, inputs, [value("y"), value("m"), value("top"), value("r")], constants)))
    infer_shapes(model)
    feeds = next(iter(random_feeds(input_specs(model), 0)))
    assert feeds["ids"].shape == feeds["mask"].shape == (2, 16)
    assert feeds["ids"].min() >= 0 and 2 < feeds["ids"].max() < 11
    assert set(np.unique(feeds["types"])) == {0, 1} and set(np.unique(feeds["mask"])) == {0, 1}
    assert feeds["k_count"].tolist() == [1] and feeds["target"].tolist() == [-1]
    assert feeds["flag"].dtype == bool


def test_integers_are_drawn_from_what_they_are_compared_with() -> None:
    nodes = [
        helper.make_node("Equal", ["rate", "sixteen"], ["fast"]),
        helper.make_node("Unsqueeze", ["bytes", "axes"], ["column"]),
        helper.make_node("Equal", ["column", "alphabet"], ["hot"]),
    ]
    inputs = [value("rate", [], TensorProto.INT64), value("bytes", ["N", "S"], TensorProto.INT32)]
    arrays = {"sixteen": np.array(16000), "axes": np.array([2]), "alphabet": np.arange(257, dtype=np.int32)}
    constants = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    model = lower(load(model_of(nodes, inputs, [value("fast"), value("hot")], constants)))
    infer_shapes(model)
    feeds = next(iter(random_feeds(input_specs(model), 0)))
    assert feeds["rate"] == 16000
    assert feeds["bytes"].max() > 2 and feeds["bytes"].min() >= 0


def test_sizes_of_signals_are_tried_in_every_combination(tmp_path: Path) -> None:
    """A reflection of 300 samples needs more than 300 of them, and the state has one row for each row of the signal."""
    nodes = [
        helper.make_node("Pad", ["x", "pads"], ["padded"], mode="reflect"),
        helper.make_node("ReduceSum", ["padded", "axes"], ["sums"], keepdims=1),
        helper.make_node("MatMul", ["state", "sums"], ["y"]),
    ]
    constants = [numpy_helper.from_array(np.array([0, 0, 0, 300]), "pads"), numpy_helper.from_array(np.array([1]), "axes")]
    onnx.save(
        model_of(nodes, [value("x", [None, None]), value("state", [3, None])], [value("y")], constants), tmp_path / "m.onnx"
    )
    report = convert(tmp_path / "m.onnx", tmp_path / "m.jny")
    assert report.verification.outcome == "verified", report.verification


def test_what_draws_random_numbers_is_not_verifiable(tmp_path: Path) -> None:
    """Dropout does so in training, which shows in an operand alone."""
    constants = [numpy_helper.from_array(np.array(0.5, np.float32), "ratio"), numpy_helper.from_array(np.array(True), "training")]
    node = helper.make_node("Dropout", ["x", "ratio", "training"], ["y"])
    onnx.save(model_of([node], [value("x", [4, 5])], [value("y")], constants), tmp_path / "m.onnx")
    report = convert(tmp_path / "m.onnx", tmp_path / "m.jny")
    assert report.verification.outcome == "not verifiable"
    assert "random numbers" in report.verification.reason


def test_results_without_names_are_no_operands(tmp_path: Path) -> None:
    """The evaluator would take what was left out from what nobody named."""
    from jitney.converter.corrected_ops import name_results

    nodes = [
        helper.make_node("LayerNormalization", ["x", "scale"], ["y", "", "deviation"]),
        helper.make_node("Pad", ["y", "pads", "", "axes"], ["padded"]),
    ]
    infos = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", [3]), ("deviation", [1]), ("padded", [4]))]
    constants = [
        numpy_helper.from_array(np.ones(3, np.float32), "scale"),
        numpy_helper.from_array(np.array([0, 1]), "pads"),
        numpy_helper.from_array(np.array([0]), "axes"),
    ]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    name_results(model.graph)
    results = ReferenceEvaluator(model).run(None, {"x": np.array([1, 2, 6], np.float32)})
    assert np.asarray(results[1])[3] == 0
