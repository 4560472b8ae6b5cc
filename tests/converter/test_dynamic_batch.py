"""Opening a fixed batch: constants follow, rows stay independent, or the node that blocks it is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from op_check import floats, model_of, reference, value

from jitney import Session
from jitney.converter.convert import convert
from jitney.errors import Unsupported


def opened(model: onnx.ModelProto, folder: Path) -> Session:
    report = convert(model, folder / "m.jny", dynamic_batch=True)
    assert report.verification.outcome == "verified", report
    session = Session(folder / "m.jny")
    assert isinstance(session.inputs[0].shape[0], str)
    return session


def constants(**arrays: Any) -> list[onnx.TensorProto]:
    return [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()]


def assert_rows(model: onnx.ModelProto, folder: Path, shape: tuple[int, ...], rows: int = 5) -> None:
    """Rows of the opened model are bit for bit those of runs with single rows, and equal to the reference's."""
    x = floats(rows, *shape)
    with opened(model, folder) as session:
        together = session.run({"x": x})
        for row in range(rows):
            for name, array in session.run({"x": x[row : row + 1]}).items():
                np.testing.assert_array_equal(together[name][row : row + 1], array)
            expected = reference(model, {"x": x[row : row + 1]})
            for name, array in expected.items():
                np.testing.assert_allclose(together[name][row : row + 1], array, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", [[1, -1], [1, 128], [-1, 128], [0, -1], [1, 8, 16], [-1, 8, 16]])
def test_reshape_with_a_baked_batch(tmp_path: Path, target: list[int]) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Reshape", ["r", "target"], ["y"]),
    ]
    weights = constants(w=floats(8, 3, 3, 3), target=np.array(target, np.int64))
    assert_rows(model_of(nodes, [value("x", [1, 3, 4, 4])], [value("y")], weights), tmp_path, (3, 4, 4))


def test_attention_with_merged_heads(tmp_path: Path) -> None:
    """[1, 6, 8] → [1, 6, 2, 4] → [1, 2, 6, 4] → [2, 6, 4] and back, as old exports of encoders do it."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["q"]),
        helper.make_node("Reshape", ["q", "split"], ["q4"]),
        helper.make_node("Transpose", ["q4"], ["qt"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["qt", "merge"], ["qm"]),
        helper.make_node("Transpose", ["qm"], ["km"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["qm", "km"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "qm"], ["o"]),
        helper.make_node("Reshape", ["o", "unmerge"], ["o4"]),
        helper.make_node("Transpose", ["o4"], ["ot"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["ot", "join"], ["y"]),
    ]
    shapes = {"split": [1, 6, 2, 4], "merge": [2, 6, 4], "unmerge": [1, 2, 6, 4], "join": [1, 6, 8]}
    weights = constants(w=floats(8, 8), **{name: np.array(shape, np.int64) for name, shape in shapes.items()})
    assert_rows(model_of(nodes, [value("x", [1, 6, 8])], [value("y")], weights), tmp_path, (6, 8))


def test_a_token_joined_to_every_row(tmp_path: Path) -> None:
    nodes = [helper.make_node("Concat", ["token", "x"], ["t"], axis=1), helper.make_node("Add", ["t", "positions"], ["y"])]
    weights = constants(token=floats(1, 1, 8), positions=floats(1, 7, 8, seed=1))
    assert_rows(model_of(nodes, [value("x", [1, 6, 8])], [value("y")], weights), tmp_path, (6, 8))


def test_a_token_expanded_to_the_batch(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Slice", ["s", "zero", "one"], ["n"]),
        helper.make_node("Concat", ["n", "rest"], ["target"], axis=0),
        helper.make_node("Expand", ["token", "target"], ["tokens"]),
        helper.make_node("Concat", ["tokens", "x"], ["y"], axis=1),
    ]
    numbers = constants(zero=np.array([0]), one=np.array([1]), rest=np.array([1, 8]), token=floats(1, 1, 8))
    assert_rows(model_of(nodes, [value("x", [1, 6, 8])], [value("y")], numbers), tmp_path, (6, 8))


def test_a_batch_greater_than_one(tmp_path: Path) -> None:
    nodes = [helper.make_node("Reshape", ["x", "target"], ["r"]), helper.make_node("Add", ["r", "b"], ["y"])]
    weights = constants(target=np.array([4, 6], np.int64), b=np.repeat(floats(1, 6), 4, axis=0))
    model = model_of(nodes, [value("x", [4, 2, 3])], [value("y")], weights)
    x = floats(7, 2, 3)
    with opened(model, tmp_path) as session:
        np.testing.assert_allclose(session.run({"x": x})["y"], x.reshape(7, 6) + floats(1, 6), rtol=1e-6)


def test_pools_resize_and_reductions(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("MaxPool", ["x"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Resize", ["p", "", "", "sizes"], ["u"], mode="linear"),
        helper.make_node("GlobalAveragePool", ["u"], ["g"]),
        helper.make_node("Squeeze", ["g", "axes"], ["s"]),
        helper.make_node("ArgMax", ["s"], ["i"], axis=1),
        helper.make_node("Softmax", ["s"], ["y"], axis=1),
    ]
    numbers = constants(sizes=np.array([1, 3, 8, 8], np.int64), axes=np.array([2, 3]))
    assert_rows(model_of(nodes, [value("x", [1, 3, 8, 8])], [value("y"), value("i")], numbers), tmp_path, (3, 8, 8))


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (helper.make_node("Softmax", ["x"], ["y"], axis=0, name="culprit"), "along the batch"),
        (helper.make_node("ReduceSum", ["x"], ["y"], name="culprit"), "along the batch"),
        (helper.make_node("ReduceSum", ["x", "axes"], ["y"], name="culprit"), "along the batch"),
        (helper.make_node("CumSum", ["x", "zero"], ["y"], name="culprit"), "along the batch"),
        (helper.make_node("Concat", ["x", "x"], ["y"], axis=0, name="culprit"), "along the batch"),
        (helper.make_node("MatMul", ["w", "x"], ["y"], name="culprit"), "batch"),
        (helper.make_node("Add", ["x", "w"], ["y"], name="culprit"), "fixed size"),
        (helper.make_node("NonZero", ["x"], ["y"], name="culprit"), "rule"),
        (helper.make_node("Gather", ["x", "axes"], ["y"], axis=0, name="culprit"), "along the batch"),
        (helper.make_node("Slice", ["x", "axes", "three"], ["y"], name="culprit"), "part of the batch"),
    ],
)
def test_what_mixes_rows_is_named(tmp_path: Path, node: onnx.NodeProto, reason: str) -> None:
    numbers = constants(axes=np.array([0]), three=np.array([3]), zero=np.array(0), w=floats(4, 4))
    used = [tensor for tensor in numbers if tensor.name in node.input]
    model = model_of([node], [value("x", [4, 4])], [value("y")], used)
    with pytest.raises(Unsupported, match=reason) as caught:
        convert(model, tmp_path / "m.jny", dynamic_batch=True)
    assert caught.value.node == "culprit"
    assert not (tmp_path / "m.jny").exists()


def test_dividing_by_the_number_of_rows_mixes_them(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Cast", ["n"], ["f"], to=1),
        helper.make_node("Div", ["x", "f"], ["y"], name="culprit"),
    ]
    with pytest.raises(Unsupported, match="number"):
        convert(
            model_of(nodes, [value("x", [2, 4])], [value("y")], constants(zero=np.array(0))),
            tmp_path / "m.jny",
            dynamic_batch=True,
        )


def test_an_open_batch_stays_as_it_is(tmp_path: Path) -> None:
    model = model_of([helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)], [value("x", ["N", 4])], [value("y")])
    convert(model, tmp_path / "m.jny", dynamic_batch=True)


def test_pictures_sampled_where_their_rows_say(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["flow"]),
        helper.make_node("Transpose", ["flow"], ["grid"], perm=[0, 2, 3, 1]),
        helper.make_node("GridSample", ["x", "grid"], ["moved"]),
        helper.make_node("Conv", ["x", "o"], ["offset"]),
        helper.make_node("DeformConv", ["moved", "d", "offset", "b"], ["bent"]),
        helper.make_node("Flatten", ["bent"], ["columns"]),
        helper.make_node("Reshape", ["columns", "folds"], ["blocks"]),
        helper.make_node("Col2Im", ["blocks", "image", "block"], ["y"]),
    ]
    weights = constants(
        w=floats(2, 3, 1, 1) / 4, o=floats(8, 3, 2, 2, seed=1), d=floats(4, 3, 2, 2, seed=2), b=floats(4, seed=3),
        folds=np.array([0, 4, 9]), image=np.array([4, 4]), block=np.array([2, 2]),
    )  # fmt: skip
    assert_rows(model_of(nodes, [value("x", [1, 3, 4, 4])], [value("y")], weights, opset=19), tmp_path, (3, 4, 4))
