"""recognise_rms_norm and recognise_group_norm: every usual spelling, and look-alikes that must stay."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from op_check import check_model, convert_bytes, floats, model_of, value
from pass_graphs import Builder, check, check_unchanged, sketch

from jitney import Session
from jitney.converter.ir import Value
from jitney.converter.passes.recognise_group_norm import recognise_group_norm
from jitney.converter.passes.recognise_rms_norm import recognise_rms_norm


def rms(
    b: Builder, x: Value, axes: list[int], root: str = "div", square: str = "pow", name: str = "y", kind: str = "mean"
) -> Value:
    squares = b("pow", x, 2.0) if square == "pow" else b("mul", x, x)
    mean = b("reduce", squares, b.const(axes, np.int64), kind=kind, keep_dims=1, noop_with_empty_axes=0)
    shifted = b("add", 1e-6, mean)
    if root == "div":
        return b("div", x, b("sqrt", shifted), name=name)
    if root == "reciprocal":
        return b("mul", x, b("reciprocal", b("sqrt", shifted)), name=name)
    if root == "root of reciprocal":
        return b("mul", x, b("sqrt", b("reciprocal", shifted)), name=name)
    if root == "one over":
        return b("mul", b("div", 1.0, b("pow", shifted, 0.5)), x, name=name)
    return b("mul", b("pow", shifted, -0.5), x, name=name)


@pytest.mark.parametrize("root", ["div", "reciprocal", "root of reciprocal", "one over", "power"])
@pytest.mark.parametrize("square", ["pow", "mul"])
@pytest.mark.parametrize("left", [False, True])
def test_rms_norm(root: str, square: str, left: bool) -> None:
    b = Builder()
    core, scale = rms(b, b.input("x", "N", 5, 4), [-1], root, square, name="core"), b.weights("scale", 4)
    y = b("mul", *((scale, core) if left else (core, scale)), name="y")
    check(recognise_rms_norm, b.model(y), ["y = rms_norm(x, scale.1) axis=2 epsilon=1e-06"])


def test_rms_norm_over_two_axes_and_without_scale() -> None:
    b = Builder()
    y = rms(b, b.input("x", 2, 3, 4), [2, -2])
    check(recognise_rms_norm, b.model(y), ["y = rms_norm(x) axis=1 epsilon=1e-06"])


def test_no_rms_norm() -> None:
    b = Builder()
    x, other = b.input("x", 2, 3, 4), b.input("other", 2, 3, 4)
    axes = b.const([2], np.int64)
    outputs = [rms(b, x, [1], name="not_trailing"), rms(b, x, [2], kind="sum", name="sum")]
    outputs.append(rms(b, x, [2], name="read_elsewhere"))
    outputs.append(b("neg", b.graph.nodes[-2].output))
    cubes = b("reduce", b("pow", x, 3.0), axes, kind="mean", keep_dims=1, noop_with_empty_axes=0)
    outputs.append(b("div", x, b("sqrt", b("add", cubes, 100.0))))
    products = b("reduce", b("mul", x, other), axes, kind="mean", keep_dims=1, noop_with_empty_axes=0)
    outputs.append(b("div", x, b("sqrt", b("add", products, 100.0))))
    squares = b("reduce", b("mul", x, x), axes, kind="mean", keep_dims=1, noop_with_empty_axes=0)
    outputs.append(b("div", other, b("sqrt", b("add", squares, 1.0))))
    each = b("reduce", b("mul", x, x), axes, kind="mean", keep_dims=1, noop_with_empty_axes=0)
    outputs.append(b("div", x, b("sqrt", b("add", each, b.const([[[1.0], [2.0], [3.0]]])))))
    flat = b("reduce", b("mul", x, x), b.const([0, 1, 2], np.int64), kind="mean", keep_dims=0, noop_with_empty_axes=0)
    outputs.append(b("div", x, b("sqrt", b("add", flat, 1.0))))
    check_unchanged(recognise_rms_norm, b.model(*outputs))


def test_scales_that_vary_otherwise_and_sums_stay_outside() -> None:
    b = Builder()
    core = rms(b, b.input("x", 2, 3, 4), [2], name="core")
    y = b("mul", core, b.weights("scale", 3, 1), name="y")
    check(recognise_rms_norm, b.model(y), ["core = rms_norm(x) axis=2 epsilon=1e-06", "y = mul(core, scale)"])
    b = Builder()
    core = rms(b, b.input("x", 2, 3, 4), [2], name="core")
    y = b("add", core, b.weights("bias", 4), name="y")
    check(recognise_rms_norm, b.model(y), ["core = rms_norm(x) axis=2 epsilon=1e-06", "y = add(core, bias)"])


def grouped(b: Builder, x: Value, inner: list[int], outer: list[int], norm: str = "instance_norm", scaled: bool = False) -> Value:
    rows = b("reshape", x, b.const(inner, np.int64), allow_zero=0)
    if norm == "instance_norm":
        scale = b.weights("s", inner[1]) if scaled else b.const(np.ones(inner[1]))
        normed = b("instance_norm", rows, scale, b.const(np.zeros(inner[1])), epsilon=1e-5)
    else:
        normed = b("layer_norm", rows, axis=2, epsilon=1e-5)
    return b("reshape", normed, b.const(outer, np.int64), allow_zero=0, name=f"back{len(b.graph.nodes)}")


@pytest.mark.parametrize("norm", ["instance_norm", "layer_norm"])
@pytest.mark.parametrize("scaled", [False, True])
def test_group_norm(norm: str, scaled: bool) -> None:
    b = Builder()
    y = grouped(b, b.input("x", "N", 6, 4, 5), [0, 3, -1], [0, 6, 4, 5], norm, scaled)
    y = b("add", b("mul", y, b.weights("scale", 6, 1, 1)), b.weights("shift", 1, 6, 1, 1), name="y")
    model = b.model(y)
    check(recognise_group_norm, model, _after(model))


def _after(model: object) -> list[str]:
    """What any of the forms above becomes; the names of constants follow the norm's."""
    graph = model.graph  # type: ignore[attr-defined]
    norm = next(node for node in graph.nodes if node.op in ("instance_norm", "layer_norm"))
    reshape = graph.nodes[2].inputs[1].name
    result = norm.output.name
    return [
        f"{result}.1 = instance_norm(x, {norm.name}.scale.1, {norm.name}.bias.2) epsilon=1e-05 groups=3",
        f"y = reshape({result}.1, {reshape}) allow_zero=0",
    ]


def test_group_norm_scaled_before_the_last_reshape() -> None:
    b = Builder()
    x = b.input("x", "N", 6, 4, 5)
    y = grouped(b, x, [0, 3, -1], [0, 6, -1], "layer_norm")
    y = b("add", b("mul", y, b.weights("scale", 6, 1)), b.weights("shift", 6, 1))
    model = b.model(b("reshape", y, b.const([0, 6, 4, 5], np.int64), allow_zero=0, name="y"))
    assert recognise_group_norm(model) > 0
    assert [node.op for node in model.graph.nodes] == ["instance_norm", "reshape", "reshape"]


def test_no_group_norm() -> None:
    b = Builder()
    x = b.input("x", 2, 6, 4, 5)
    outputs = [
        grouped(b, x, [2, 4, -1], [2, 6, 4, 5]),  # 4 does not divide the channels
        grouped(b, x, [4, 3, 20], [2, 6, 4, 5]),  # rows of other images
        grouped(b, x, [2, 3, -1], [2, 12, 2, 5]),  # other channels afterwards
        grouped(b, x, [2, 3, -1], [4, 3, 4, 5]),
        grouped(b, x, [2, 3, 2, 20], [2, 6, 4, 5], "layer_norm"),
    ]
    b.graph.nodes[-2].attributes["axis"] = 3  # each channel by itself
    check_unchanged(recognise_group_norm, b.model(*outputs))


def test_factors_of_single_pixels_stay_outside() -> None:
    b = Builder()
    y = grouped(b, b.input("x", 2, 6, 4, 5), [2, 3, -1], [2, 6, 4, 5])
    model = b.model(b("mul", y, b.weights("scale", 6, 1, 5), name="y"))
    recognise_group_norm(model)
    assert [line.split(" = ")[1].split("(")[0] for line in sketch(model)] == ["instance_norm", "reshape", "mul"]


def _ops(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[str]:  # type: ignore[type-arg]
    with Session(convert_bytes(model), threads=1, profile=True) as session:
        session.run(feeds)
        return [step.op for step in session.plan_report().steps]


@pytest.mark.parametrize("last", [False, True])
def test_group_norm_as_pytorch_exports_it(last: bool) -> None:
    """Behind a convolution, so that images lie channels-last, or as they come."""
    x, weight = floats(2, 8, 9, 7), floats(12 if last else 8, 8, 3, 3, seed=1)
    channels = weight.shape[0] if last else 8
    shapes = {"rows": [0, 4, -1], "images": [2, channels, 9, 7]}
    numbers = {"ones": np.ones(4, np.float32), "zeros": np.zeros(4, np.float32), "w": weight}
    numbers |= {"scale": floats(channels, 1, 1, seed=2), "shift": floats(channels, 1, 1, seed=3)}
    numbers |= {name: np.array(shape, np.int64) for name, shape in shapes.items()}
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1])] if last else []
    nodes += [
        helper.make_node("Reshape", ["c" if last else "x", "rows"], ["r"]),
        helper.make_node("InstanceNormalization", ["r", "ones", "zeros"], ["n"], epsilon=1e-5),
        helper.make_node("Reshape", ["n", "images"], ["b"]),
        helper.make_node("Mul", ["b", "scale"], ["m"]),
        helper.make_node("Add", ["m", "shift"], ["y"]),
    ]
    tensors = [numpy_helper.from_array(array, name) for name, array in numbers.items()]
    model = model_of(nodes, [value("x", x.shape)], [value("y")], tensors)
    check_model(model, {"x": x})
    ops = _ops(model, {"x": x})
    assert "instance_norm" in ops
    assert not {"mul", "add", "mul+add", "reshape"} & {*ops}


@pytest.mark.parametrize("opset", [21, 23])
def test_group_normalization(opset: int) -> None:
    x = floats(2, 6, 5, 4)
    tensors = [numpy_helper.from_array(floats(6, seed=seed), name) for seed, name in ((1, "scale"), (2, "bias"))]
    node = helper.make_node("GroupNormalization", ["x", "scale", "bias"], ["y"], num_groups=3, epsilon=1e-4)
    model = model_of([node], [value("x", x.shape)], [value("y")], tensors, opset)
    check_model(model, {"x": x})
    assert _ops(model, {"x": x}) == ["instance_norm"]


def test_rms_normalization() -> None:
    x = floats(2, 6, 40)
    node = helper.make_node("RMSNormalization", ["x", "scale"], ["y"], epsilon=1e-4)
    model = model_of([node], [value("x", x.shape)], [value("y")], [numpy_helper.from_array(floats(40, seed=1), "scale")], 23)
    check_model(model, {"x": x})
    assert _ops(model, {"x": x}) == ["rms_norm"]


def test_simplified_layer_normalization_with_a_residual() -> None:
    x, skip = floats(2, 6, 40), floats(2, 6, 40, seed=2)
    node = helper.make_node(
        "SkipSimplifiedLayerNormalization", ["x", "skip", "scale"], ["y", "", "", "sum"], domain="com.microsoft"
    )
    scale = numpy_helper.from_array(floats(40, seed=1), "scale")
    model = model_of([node], [value("x", x.shape), value("skip", x.shape)], [value("y"), value("sum")], [scale])
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    check_model(model, {"x": x, "skip": skip})
    assert _ops(model, {"x": x, "skip": skip}) == ["add", "rms_norm"]


def test_rms_norm_of_a_decoder_in_half_precision() -> None:
    """Cast up, normalised, cast down, scaled."""
    x = floats(2, 6, 40).astype(np.float16)
    nodes = [
        helper.make_node("Cast", ["x"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("Pow", ["wide", "two"], ["squares"]),
        helper.make_node("ReduceMean", ["squares"], ["mean"], axes=[-1]),
        helper.make_node("Add", ["mean", "epsilon"], ["shifted"]),
        helper.make_node("Sqrt", ["shifted"], ["root"]),
        helper.make_node("Reciprocal", ["root"], ["inverse"]),
        helper.make_node("Mul", ["wide", "inverse"], ["normed"]),
        helper.make_node("Cast", ["normed"], ["narrow"], to=TensorProto.FLOAT16),
        helper.make_node("Mul", ["scale", "narrow"], ["y"]),
    ]
    numbers = {"two": np.float32(2), "epsilon": np.float32(1e-6), "scale": floats(40, seed=1).astype(np.float16)}
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in numbers.items()]
    model = model_of(nodes, [value("x", x.shape, TensorProto.FLOAT16)], [value("y", None, TensorProto.FLOAT16)], tensors, 17)
    check_model(model, {"x": x}, tolerance=2e-3)
    assert _ops(model, {"x": x}).count("rms_norm") == 1
