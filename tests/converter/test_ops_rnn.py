"""RNN, GRU and LSTM: attributes, optional operands, layouts and dtypes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from op_check import Array, assert_same, check, floats, make_model, model_of, over_versions, reference, rng, run_jny, value

from jitney.converter.load import load
from jitney.converter.reference import Reference
from jitney.errors import InvalidModel

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def network(
    op: str, *, steps: int = 3, batch: int = 2, inputs: int = 4, hidden: int = 5, directions: int = 1, optional: bool = True
) -> list[Array | None]:
    """Operands with time as the outermost axis."""
    gates = GATES[op]
    sizes = [(steps, batch, inputs), (directions, gates * hidden, inputs), (directions, gates * hidden, hidden)]
    operands: list[Array | None] = [0.5 * floats(*size, seed=i) for i, size in enumerate(sizes)]
    if optional:
        state = (directions, batch, hidden)
        operands += [0.5 * floats(directions, 2 * gates * hidden, seed=7), None, floats(*state, seed=8)]
        if op == "LSTM":
            operands += [floats(*state, seed=9), floats(directions, 3 * hidden, seed=10)]
    return operands


def results(op: str) -> list[str]:
    return ["y", "h", "c"] if op == "LSTM" else ["y", "h"]


@over_versions("RNN", "GRU", "LSTM")
def test_versions(op: str, opset: int) -> None:
    check(op, network(op), opset=opset, outputs=results(op), hidden_size=5)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_directions_and_lengths(op: str, direction: str) -> None:
    operands = network(op, batch=4, directions=2 if direction == "bidirectional" else 1)
    operands[4] = np.array([3, 1, 0, 2], np.int32)
    check(op, operands, opset=14, outputs=results(op), constants=(1, 2), hidden_size=5, direction=direction)


@pytest.mark.parametrize("op", GATES)
def test_left_out(op: str) -> None:
    """Optional operands, the list of all states, and the states at the end."""
    operands = network(op, optional=False)
    check(op, operands, opset=14, hidden_size=5)
    check(op, operands, opset=14, outputs=["", "h"], hidden_size=5)
    operands = network(op)
    operands[3] = None
    check(op, operands, opset=14, outputs=results(op)[:1], hidden_size=5)


@pytest.mark.parametrize("op", GATES)
def test_batch_first(op: str) -> None:
    operands = network(op, directions=2)
    attributes = {"hidden_size": 5, "direction": "bidirectional"}
    expected = run_jny(make_model(op, operands, opset=14, outputs=results(op), attributes=attributes), feeds(operands))
    for index in (0, 5, 6):
        if index < len(operands):
            operands[index] = np.ascontiguousarray(np.swapaxes(operands[index], 0, 1))  # type: ignore[arg-type, type-var]
    model = make_model(op, operands, opset=14, outputs=results(op), attributes={**attributes, "layout": 1})
    actual = run_jny(model, feeds(operands))
    assert_same(actual["y"], np.transpose(expected["y"], (2, 0, 1, 3)))
    for name in results(op)[1:]:
        assert_same(actual[name], np.swapaxes(expected[name], 0, 1))


def feeds(operands: list[Array | None]) -> dict[str, Array]:
    return {f"x{i}": operand for i, operand in enumerate(operands) if operand is not None}


FUNCTIONS: list[tuple[str, list[float], list[float]]] = [
    ("Affine", [0.7], [0.1]),
    ("Elu", [0.6], []),
    ("Elu", [], []),
    ("HardSigmoid", [0.3], [0.4]),
    ("HardSigmoid", [], []),
    ("LeakyRelu", [0.2], []),
    ("LeakyRelu", [], []),
    ("Relu", [], []),
    ("ScaledTanh", [0.9], [0.8]),
    ("Sigmoid", [], []),
    ("Softplus", [], []),
    ("Softsign", [], []),
    ("Tanh", [], []),
    ("ThresholdedRelu", [0.1], []),
]


@pytest.mark.parametrize(("function", "alpha", "beta"), FUNCTIONS)
def test_activations(function: str, alpha: list[float], beta: list[float]) -> None:
    options: dict[str, Any] = {"opset": 14, "hidden_size": 5, "outputs": 2, "symbolic": False}
    if alpha:
        options["activation_alpha"] = alpha
    if beta:
        options["activation_beta"] = beta
    check("RNN", network("RNN"), activations=[function], **options)
    check("GRU", network("GRU"), activations=["Sigmoid", function], **options)
    check("LSTM", network("LSTM"), activations=["Sigmoid", function, "Tanh"], **options)


def test_numbers_go_to_the_activations_that_take_them() -> None:
    operands = network("LSTM", directions=2)
    names = ["HardSigmoid", "Tanh", "LeakyRelu", "Sigmoid", "ScaledTanh", "Affine"]
    attributes = {"activation_alpha": [0.3, 0.2, 0.8, 0.9], "activation_beta": [0.45, 0.7, 0.05]}
    check("LSTM", operands, opset=14, hidden_size=5, direction="bidirectional", activations=names, **attributes)


@pytest.mark.parametrize("clip", [0.2, 1.5])
@pytest.mark.parametrize("flag", [0, 1])
def test_clip_and_variants(clip: float, flag: int) -> None:
    check("RNN", network("RNN"), opset=14, hidden_size=5, clip=clip)
    check("GRU", network("GRU"), opset=14, hidden_size=5, clip=clip, linear_before_reset=flag)
    check("LSTM", network("LSTM"), opset=14, hidden_size=5, clip=clip, input_forget=flag, outputs=3)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_dtypes(op: str, dtype: type) -> None:
    """ONNX Runtime knows float32 alone, so other dtypes are compared with that."""
    narrow = [None if operand is None else operand.astype(dtype) for operand in network(op)]
    wide = [None if operand is None else operand.astype(np.float32) for operand in narrow]
    options: dict[str, Any] = {"opset": 14, "outputs": results(op), "attributes": {"hidden_size": 5}}
    expected = reference(make_model(op, wide, **options), feeds(wide))
    actual = run_jny(make_model(op, narrow, **options), feeds(narrow))
    for name, array in expected.items():
        assert_same(actual[name], array.astype(dtype), 2e-5 if dtype is np.float64 else 2e-3)


@pytest.mark.parametrize("op", GATES)
def test_nothing_to_do(op: str) -> None:
    for sizes in ({"steps": 0}, {"batch": 0}, {"inputs": 0}):
        operands = network(op, **sizes)  # type: ignore[arg-type]
        model = make_model(op, operands, opset=14, outputs=results(op), attributes={"hidden_size": 5}, symbolic=True)
        actual = run_jny(model, feeds(operands))
        shape = operands[0].shape if operands[0] is not None else ()
        assert actual["y"].shape == (shape[0], 1, shape[1], 5)
        assert actual["h"].shape == (1, shape[1], 5)


def test_one_plan_serves_all_lengths() -> None:
    """Sizes may change from run to run; weights stay packed."""
    from op_check import convert_bytes

    from jitney import Session

    operands = network("LSTM", optional=False)
    model = make_model("LSTM", operands, opset=14, constants=(1, 2), symbolic=True, attributes={"hidden_size": 5})
    with Session(convert_bytes(model)) as session:
        for steps, batch in ((1, 1), (9, 3), (2, 7), (1, 1)):
            x = rng(steps).standard_normal((steps, batch, 4)).astype(np.float32)
            assert_same(session.run({"x0": x})["y0"], reference(model, {"x0": x})["y0"])


def test_wrong_attributes() -> None:
    def convert(**attributes: Any) -> None:
        run_jny(make_model("LSTM", network("LSTM"), opset=14, attributes=attributes), feeds(network("LSTM")))

    with pytest.raises(InvalidModel, match="hidden_size is 6"):
        convert(hidden_size=6)
    with pytest.raises(InvalidModel, match="2 activations are named; 3 are wanted"):
        convert(hidden_size=5, activations=["Sigmoid", "Tanh"])
    with pytest.raises(InvalidModel, match="'cosh' is not among"):
        convert(hidden_size=5, activations=["Sigmoid", "Tanh", "Cosh"])


def quantised_lstm(
    operands: list[Array | None], bits: type, *, per_column: bool, hidden: int, directions: int
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A DynamicQuantizeLSTM with the weights of a float one."""
    parts: dict[str, Array] = {}
    low, high = (-127, 127) if bits is np.int8 else (0, 255)
    for name, weights in (("w", operands[1]), ("r", operands[2])):
        assert weights is not None
        by_column = weights.transpose(0, 2, 1)
        axes = (1,) if per_column else (1, 2)
        size = np.abs(by_column).max(axes, keepdims=True)
        scale = 2 * size / (high - low)
        zero = np.full_like(scale, 0 if bits is np.int8 else 128)
        parts[name] = np.clip(np.round(by_column / scale) + zero, low, high).astype(bits)
        shape = (directions, 4 * hidden) if per_column else (directions,)
        parts[f"{name}_scale"] = scale.reshape(shape).astype(np.float32)
        parts[f"{name}_zero"] = zero.reshape(shape).astype(bits)
    rest = dict(zip(("x", "", "", "b", "", "h", "c", "p"), operands))
    names = ["x", "w", "r", "b", "", "h", "c", "p", "w_scale", "w_zero", "r_scale", "r_zero"]
    direction = "bidirectional" if directions == 2 else "forward"
    node = helper.make_node(
        "DynamicQuantizeLSTM", names, ["y", "yh", "yc"], domain="com.microsoft", hidden_size=hidden, direction=direction
    )
    constants = parts | {name: array for name, array in rest.items() if name in ("b", "p") and array is not None}
    fed = {name: array for name, array in rest.items() if name in ("x", "h", "c") and array is not None}
    model = model_of(
        [node],
        [value(name, array.shape) for name, array in fed.items()],
        [value(name) for name in ("y", "yh", "yc")],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model, fed


def on_one_thread(model: onnx.ModelProto, fed: dict[str, Array]) -> dict[str, Array]:
    """ONNX Runtime's outputs. On more threads, each rounds the states of its own part of the batch."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip([info.name for info in model.graph.output], session.run(None, fed)))


@pytest.mark.parametrize("bits", [np.int8, np.uint8])
@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("directions", [1, 2])
def test_dynamically_quantised(bits: type, per_column: bool, directions: int) -> None:
    operands = network("LSTM", steps=6, batch=3, inputs=20, hidden=16, directions=directions)
    model, fed = quantised_lstm(operands, bits, per_column=per_column, hidden=16, directions=directions)
    expected = on_one_thread(model, fed)
    for simplify, backend in ((False, "reference"), (True, "auto")):
        actual = run_jny(model, fed, simplify=simplify, backend=backend)
        for name in expected:
            assert_same(actual[name], expected[name], 1e-4)


@pytest.mark.parametrize("lengths", [[3, 3], [7, 3], [4, 5]])
@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("outputs", [["y", "yh", "yc"], ["yh"]])
def test_dynamically_quantised_sequences_that_end_early(lengths: list[int], directions: int, outputs: list[str]) -> None:
    """Steps that no sequence has do not count in the range of x, nor do, where y is wanted, states of sequences that ended."""
    operands = network("LSTM", steps=7, batch=2, inputs=20, hidden=16, directions=directions)
    model, fed = quantised_lstm(operands, np.int8, per_column=False, hidden=16, directions=directions)
    node = model.graph.node[0]
    node.input[4] = "lengths"
    model.graph.input.append(value("lengths", [2], onnx.TensorProto.INT32))
    node.output[:] = [name if name in outputs else "" for name in node.output]
    del model.graph.output[:]
    model.graph.output.extend(value(name) for name in outputs)
    fed["lengths"] = np.array(lengths, np.int32)
    expected = on_one_thread(model, fed)
    for simplify, backend in ((False, "reference"), (True, "auto")):
        actual = run_jny(model, fed, simplify=simplify, backend=backend)
        for name in outputs:
            assert_same(actual[name], expected[name], 1e-5)


def test_verification_compares_with_one_thread() -> None:
    operands = network("LSTM", steps=6, batch=16, inputs=20, hidden=16, directions=2)
    model, fed = quantised_lstm(operands, np.int8, per_column=False, hidden=16, directions=2)
    with Reference(load(model), time.monotonic() + 60) as reference:
        actual = reference.run(fed)
    for name, expected in on_one_thread(model, fed).items():
        np.testing.assert_array_equal(actual[name], expected)
