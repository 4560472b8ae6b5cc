"""What verification says where sizes, samples or references stand in the way, and that it says who is to blame."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from op_check import floats, model_of, value

from jitney.converter import check, convert, verify
from jitney.converter.reference_reason import reason_of
from jitney.errors import InvalidInput, InvalidModel, IoError, Unsupported

PREFIX = "[ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running "
BROADCAST = "void onnxruntime::BroadcastIterator::Init(ptrdiff_t, ptrdiff_t) axis == 1 || axis == largest was false. "


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            f"{PREFIX}Reshape node. Name:'r' Status Message: /src/core/tensor/reshape_helper.h:84 onnxruntime::ReshapeHelper::"
            "ReshapeHelper(const onnxruntime::TensorShape&, bool) size != 0 && (input_shape_size % size) == 0 was false. "
            "The input tensor cannot be reshaped to the requested shape. Input shape:{2,3}, requested shape:{-1,7}\n",
            "Reshape node 'r': The input tensor cannot be reshaped to the requested shape. Input shape:{2,3}, requested "
            "shape:{-1,7}",
        ),
        (
            f"{PREFIX}Add node. Name:'' Status Message: /src/element_wise_ops.h:563 {BROADCAST}Attempting to broadcast 3 by 5\n",
            "Add node: Attempting to broadcast 3 by 5",
        ),
        (
            f"{PREFIX}Concat node. Name:'' Status Message: concatbase.h:135 PrepareForComputeImpl Axis 1 differs",
            "Concat node: Axis 1 differs",
        ),
        (f"{PREFIX}Conv node. Name:'' Status Message: Invalid input shape: {{2,2}}", "Conv node: Invalid input shape: {2,2}"),
        ("[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Got 2\n Expected: 1\n", "Got 2 Expected: 1"),
        ("cannot reshape array\nmore", "cannot reshape array"),
        ("", "RuntimeError"),
    ],
)
def test_reasons_go_without_sources(said: str, reason: str) -> None:
    assert reason_of(RuntimeError(said)) == reason


def reshape(rows: int = 6) -> onnx.ModelProto:
    """Works where the size of x is a multiple of `rows`."""
    target = numpy_helper.from_array(np.array([-1, rows]), "target")
    return model_of([helper.make_node("Reshape", ["x", "target"], ["y"])], [value("x", ["N", "M"])], [value("y")], [target])


def test_a_sample_that_the_reference_refuses_is_at_fault(tmp_path: Path) -> None:
    assert convert(reshape(), tmp_path / "m.jny", sample={"x": floats(2, 3)}).verification.outcome == "verified"
    with pytest.raises(InvalidInput, match="on the sample") as caught:
        convert(reshape(), tmp_path / "m.jny", sample={"x": floats(5, 5)})
    assert "_helper.h" not in str(caught.value) and "[5, 5]" in str(caught.value)


def test_sizes_that_suit_no_model_can_be_given(tmp_path: Path) -> None:
    reason = convert(reshape(7919), tmp_path / "m.jny").verification.reason
    assert "--shape" in reason and "--sample" in reason and "_helper.h" not in reason


def test_sizes_that_the_file_fixes_are_taken_from_it(tmp_path: Path) -> None:
    nodes = [helper.make_node("Concat", ["x", "z"], ["y"], axis=1)]
    model = model_of(nodes, [value("x", ["N", "M"]), value("z", ["N", 3])], [value("y")])
    onnx.save(model, tmp_path / "m.onnx")
    for shapes in ({"x": (1, 5)}, {"x": (7, "K")}, {"z": (3, 3)}, {}):
        convert(tmp_path / "m.onnx", tmp_path / "m.jny", shapes=shapes, verify=False)
        result = verify(tmp_path / "m.jny", tmp_path / "m.onnx")
        assert result.outcome == "verified", (shapes, result)
    convert(tmp_path / "m.onnx", tmp_path / "m.jny", shapes={"x": (1, 5)}, verify=False)
    assert verify(tmp_path / "m.jny", tmp_path / "m.onnx", sample={"x": floats(1, 5), "z": floats(1, 3)}).outcome == "verified"


def test_files_and_sizes_that_do_not_belong_to_the_model(tmp_path: Path) -> None:
    sums = model_of([helper.make_node("Sum", ["x", "z"], ["y"])], [value(name, ["N"]) for name in "xz"], [value("y")])
    relu = model_of([helper.make_node("Relu", ["x"], ["y"])], [value("x", ["N"])], [value("y")])
    convert(relu, tmp_path / "m.jny", shapes={"x": (2,)})
    with pytest.raises(InvalidInput, match=r"converted model takes x: float32 \[2\]"):
        verify(tmp_path / "m.jny", relu.SerializeToString(), shapes={"x": (3,)})
    result = verify(tmp_path / "m.jny", sums.SerializeToString())
    assert result.outcome == "mismatch" and "'z'" in result.reason


def test_empty_outputs_verify_nothing(tmp_path: Path) -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], [value("x", ["N", 0, 3])], [value("y")])
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "M"
    report = convert(model, tmp_path / "m.jny", shapes={"x": (1, 0, 3)})
    assert report.verification.outcome == "not verifiable" and "all outputs are empty" in report.verification.reason
    assert convert(model, tmp_path / "m.jny").verification.outcome == "verified"


def test_sizes_with_non_empty_outputs_are_preferred(tmp_path: Path) -> None:
    """Only 300 columns and more leave any."""
    constants = [numpy_helper.from_array(np.array([each]), name) for name, each in (("from", 300), ("to", 2**31), ("axis", 1))]
    nodes = [helper.make_node("Slice", ["x", "from", "to", "axis"], ["y"])]
    report = convert(model_of(nodes, [value("x", ["N", "M"])], [value("y")], constants), tmp_path / "m.jny")
    assert report.verification.outcome == "verified", report.verification


def test_faults_of_the_evaluator_are_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes what is beyond the border for its neighbours when it interpolates by cubes."""
    monkeypatch.setattr("jitney.converter.reference.RUNNERS", ("evaluator",))
    for mode, verified in (("cubic", False), ("linear", True)):
        node = helper.make_node("GridSample", ["x", "grid"], ["y"], name="sampled", mode=mode, padding_mode="border")
        model = model_of([node], [value("x", [1, 1, 4, 5]), value("grid", [1, 3, 3, 2])], [value("y")], opset=20)
        found = convert(
            model, tmp_path / "m.jny", sample={"x": floats(1, 1, 4, 5), "grid": 1.5 * floats(1, 3, 3, 2)}
        ).verification
        assert (found.outcome == "verified") == verified
        assert verified or ("onnx's evaluator does not compute" in found.reason and "'sampled'" in found.reason)


def test_inputs_that_the_evaluator_does_not_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes of parts are drawn that do not add up."""
    monkeypatch.setattr("jitney.converter.reference.RUNNERS", ("evaluator",))
    model = model_of(
        [helper.make_node("Split", ["x", "parts"], ["y", "z"])],
        [value("x", [6]), value("parts", [2], TensorProto.INT64)],
        [value("y"), value("z")],
    )
    found = convert(model, tmp_path / "m.jny").verification
    assert found.outcome == "not verifiable" and "--sample" in found.reason
    sample = {"x": floats(6), "parts": np.array([2, 4])}
    assert convert(model, tmp_path / "m.jny", sample=sample).verification.outcome == "verified"


def test_lengths_of_sequences_are_verified_without_onnx_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jitney.converter.reference.RUNNERS", ("evaluator",))
    weights = [numpy_helper.from_array(floats(1, 12, size, seed=size), name) for name, size in (("w", 5), ("r", 3))]
    node = helper.make_node("LSTM", ["x", "w", "r", "", "lengths"], ["y", "h"], hidden_size=3)
    inputs = [value("x", [6, 4, 5]), value("lengths", [4], TensorProto.INT32)]
    sample = {"x": floats(6, 4, 5), "lengths": np.array([6, 2, 1, 3], np.int32)}
    report = convert(model_of([node], inputs, [value("y"), value("h")], weights), tmp_path / "m.jny", sample=sample)
    assert report.verification.outcome == "verified"


def test_the_largest_value_is_that_of_the_whole_output(tmp_path: Path) -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], [value("x", [2, 3, 4])], [value("y")])
    sample = np.zeros((2, 3, 4), np.float32)
    sample[1, 2, 3] = 7
    report = convert(model, tmp_path / "m.jny", sample={"x": sample})
    assert "largest value 7" in str(report)
    assert report.to_dict()["verification"]["outputs"][0]["magnitude"] == 7


def test_sizes_that_contradict_the_model_are_blamed(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(floats(6, 2), "w")
    nodes = [
        helper.make_node("Flatten", ["x"], ["f"], name="flat"),
        helper.make_node("MatMul", ["f", "w"], ["y"], name="product"),
    ]
    model = model_of(nodes, [value("x", ["N", "A", "B"])], [value("y")], [weight])
    with pytest.raises(InvalidInput, match="with --shape x=1,3,5") as caught:
        convert(model, tmp_path / "m.jny", shapes={"x": (1, 3, 5)})
    assert caught.value.node == "product" and caught.value.hint == "try other sizes"
    (problem,) = check(model, shapes={"x": (1, 3, 5)}).problems
    assert problem.hint == "try other sizes"
    broken = model_of(nodes, [value("x", ["N", 3, 5])], [value("y")], [weight])
    with pytest.raises(InvalidModel, match="6"):
        convert(broken, tmp_path / "m.jny", shapes={"x": (1, 3, 5)})


def test_missing_external_data_names_the_file(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(floats(300), "w")
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", [300])], [value("y")], [weight])
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.weights", size_threshold=0)
    (tmp_path / "m.weights").unlink()
    for look in (lambda: convert(tmp_path / "m.onnx"), lambda: check(tmp_path / "m.onnx")):
        with pytest.raises(IoError, match=r"m\.weights") as caught:
            look()
        assert str(tmp_path / "m.weights") in caught.value.message and "copy it beside the model" in caught.value.hint


def test_the_example_of_a_state_has_the_input_s_rank(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["h"], ["o"])]
    model = model_of(nodes, [value("h", [1, "B", 8])], [value("o")])
    with pytest.raises(Unsupported) as caught:
        convert(model, tmp_path / "m.jny", states={"h": "o"})
    assert "--shape h=1,1,8" in caught.value.hint
