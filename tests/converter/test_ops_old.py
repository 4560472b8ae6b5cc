"""Models of opsets 1 to 6, before ONNX settled how ops broadcast and where their parameters go."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from op_check import Array, assert_same, floats, int64s, make_model, run_jny

from jitney.errors import InvalidModel, Unsupported


def run(
    op: str, inputs: list[Array | None], opset: int, outputs: int = 1, symbolic: bool = False, **attributes: Any
) -> list[Array]:
    model = make_model(op, inputs, opset=opset, outputs=outputs, symbolic=symbolic, attributes=attributes)
    return list(run_jny(model, {f"x{i}": array for i, array in enumerate(inputs) if array is not None}).values())


NUMPY = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power, "Equal": np.equal,
    "Less": np.less, "Greater": np.greater, "And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor,
}  # fmt: skip


@pytest.mark.parametrize("opset", [1, 6])
@pytest.mark.parametrize("op", NUMPY)
def test_broadcasting_by_axis(op: str, opset: int) -> None:
    a, wide = floats(2, 3, 4, 5), np.abs(floats(2, 3, 4, 5, seed=1)) + 0.5
    if op == "Equal":
        a, wide = np.round(a).astype(np.int32), np.round(wide).astype(np.int32)
    elif op in ("And", "Or", "Xor"):
        a, wide = a > 0, wide > 1
    elif op == "Pow":
        a = np.abs(a)
    for b, axis, shape in (
        (wide[0, :, :, 0], 1, (3, 4, 1)),
        (wide[0, :, :, 0], -3, (3, 4, 1)),
        (wide[:, 0, 0, 0], 0, (2, 1, 1, 1)),
        (wide[0, 0], None, (4, 5)),
        (wide[0, 0, 0, 0], None, ()),
        (wide[0, 0, 0, :1], 1, (1,)),
        (wide, None, wide.shape),
    ):
        attributes = {"broadcast": 1} | ({} if axis is None else {"axis": axis})
        expected = NUMPY[op](a, b.reshape(shape))
        for symbolic in (False, True):
            assert_same(run(op, [a, np.ascontiguousarray(b)], opset, symbolic=symbolic, **attributes)[0], expected)
    assert_same(run(op, [a, wide], opset)[0], NUMPY[op](a, wide))


@pytest.mark.parametrize("opset", [1, 6])
def test_slope_of_each_channel(opset: int) -> None:
    x, slope = floats(2, 3, 4), np.array([0.1, 0.2, 0.3], np.float32)
    assert_same(run("PRelu", [x, slope], opset)[0], np.where(x < 0, x * slope[:, None], x))
    assert_same(run("PRelu", [x, slope[:1]], opset)[0], np.where(x < 0, x * slope[0], x))
    assert_same(run("PRelu", [x[:, :, 0], slope], opset)[0], np.where(x[:, :, 0] < 0, x[:, :, 0] * slope, x[:, :, 0]))


def test_type_by_name() -> None:
    x = np.array([0.5, -2.25, 3], np.float32)
    assert_same(run("Cast", [x], 1, to="INT32")[0], x.astype(np.int32))
    assert_same(run("Cast", [x], 1, to="double")[0], x.astype(np.float64))
    with pytest.raises(InvalidModel, match="'REAL' is no type"):
        run("Cast", [x], 1, to="REAL")


def test_attributes_that_became_operands() -> None:
    x = floats(2, 3, 4)
    assert_same(run("Reshape", [x], 1, shape=[0, -1])[0], x.reshape(2, 12))
    assert_same(
        run("Pad", [x], 1, paddings=[0, 1, 0, 0, 0, 2], value=3.0)[0], np.pad(x, ((0, 0), (1, 0), (0, 2)), constant_values=3)
    )
    assert_same(run("Concat", [x, x], 1)[0], np.concatenate([x, x], 1))
    assert_same(run("Clip", [x], 1, min=-0.5)[0], np.maximum(x, -0.5))
    parts = run("Split", [x], 1, outputs=2, axis=2, split=[1, 3])
    assert_same(parts[0], x[:, :, :1])
    assert_same(parts[1], x[:, :, 1:])
    image = floats(1, 2, 3, 4)
    grown = run("Upsample", [image], 1, height_scale=2.0, width_scale=3.0, mode="nearest")[0]
    assert_same(grown, image.repeat(2, 2).repeat(3, 3))


def test_tile_along_one_axis() -> None:
    x = floats(2, 3)
    model = make_model("Tile", [x, np.array([2.0], np.float32), np.array([1.0], np.float32)], opset=1, constants=(2,))
    assert_same(run_jny(model, {"x0": x, "x1": np.array([2.0], np.float32)})["y0"], np.tile(x, (1, 2)))
    with pytest.raises(Unsupported, match="an axis that is computed"):
        run("Tile", [x, np.array([2.0], np.float32), np.array([1.0], np.float32)], 1)


@pytest.mark.parametrize("opset", [1, 6])
def test_gemm(opset: int) -> None:
    a, b, c = floats(2, 3), floats(3, 4), floats(4)
    assert_same(run("Gemm", [a, b, c], opset, broadcast=1, beta=0.5)[0], a @ b + 0.5 * c)
    assert_same(run("Gemm", [a, b, floats(2, 4)], opset)[0], a @ b + floats(2, 4))


def test_norms_that_were_floats() -> None:
    x = floats(1, 2, 6)
    assert_same(run("GlobalLpPool", [x], 1, p=1.0)[0], np.abs(x).sum(2, keepdims=True))
    with pytest.raises(Unsupported, match=r"p is 1\.5"):
        run("GlobalLpPool", [x], 1, p=1.5)


@pytest.mark.parametrize("opset", [1, 6, 7])
@pytest.mark.parametrize("spatial", [0, 1])
def test_batch_normalization(opset: int, spatial: int) -> None:
    x = floats(3, 2, 4)
    sizes, axes = ((2, 4), (0,)) if not spatial else ((2,), (0, 2))
    scale, bias, mean, variance = (np.abs(floats(*sizes, seed=i)) + 0.1 for i in range(4))
    spread = [array if not spatial else array[:, None] for array in (scale, bias, mean, variance)]
    expected = (x - spread[2]) / np.sqrt(spread[3] + 1e-5) * spread[0] + spread[1]
    attributes = {"spatial": spatial} | ({"is_test": 1} if opset < 7 else {})
    if opset == 1:
        attributes["consumed_inputs"] = [0, 0, 0, 1, 1]  # type: ignore[assignment]
    inputs: list[Array | None] = [x, scale, bias, mean, variance]
    assert_same(run("BatchNormalization", inputs, opset, **attributes)[0], expected)
    constant = make_model("BatchNormalization", inputs, opset=opset, constants=(1, 2, 3, 4), attributes=attributes)
    assert_same(run_jny(constant, {"x0": x})["y0"], expected)
    # With its other results, the node trains.
    attributes.pop("is_test", None)
    y, moving_mean, moving_variance, own_mean, own_variance = run(
        "BatchNormalization", inputs, opset, outputs=5, momentum=0.75, **attributes
    )
    assert_same(own_mean, x.mean(axes))
    assert_same(own_variance, x.var(axes))
    assert_same(moving_mean, 0.75 * mean + 0.25 * x.mean(axes))
    assert_same(moving_variance, 0.75 * variance + 0.25 * x.var(axes))
    centred = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)
    assert_same(y, centred * spread[0] + spread[1])


@pytest.mark.parametrize("opset", [1, 6, 7, 10])
def test_dropout_in_inference(opset: int) -> None:
    x = floats(2, 3)
    attributes = {"is_test": 1} if opset < 7 else {}
    y, mask = run("Dropout", [x], opset, outputs=2, **attributes)
    assert_same(y, x)
    assert mask.all() and mask.dtype == (bool if opset >= 10 else np.float32)


def test_files_of_the_first_days() -> None:
    """Before version 3 of the file format no opset was named: the first is meant."""
    x = floats(2, 3)
    model = make_model("Add", [x, x[:, 0].copy()], opset=1, attributes={"broadcast": 1, "axis": 0})
    model.ir_version = 2
    del model.opset_import[:]
    assert_same(run_jny(model, {"x0": x, "x1": x[:, 0].copy()})["y0"], x + x[:, :1])


def test_lists_are_read_from_initializers() -> None:
    """As the first exporters wrote them: every initializer is an input, too."""
    w = floats(3, 4)
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "shape"], ["flat"]), helper.make_node("Gemm", ["flat", "w", "b"], ["y"], broadcast=1)],
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 1, 3]),
            helper.make_tensor_value_info("shape", TensorProto.INT64, [2]),
            helper.make_tensor_value_info("w", TensorProto.FLOAT, [3, 4]),
            helper.make_tensor_value_info("b", TensorProto.FLOAT, [4]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
        [
            numpy_helper.from_array(int64s(2, 3), "shape"),
            numpy_helper.from_array(w, "w"),
            numpy_helper.from_array(floats(4), "b"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 5)], ir_version=3)
    onnx.checker.check_model(model)
    x = floats(2, 1, 3)
    assert_same(run_jny(model, {"x": x})["y"], x.reshape(2, 3) @ w + floats(4))
