"""Models that are damaged, odd or out of range: an error that helps, or the right answer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from op_check import check_model, floats, model_of, run_jny, value

from jitney.converter.convert import convert
from jitney.converter.ir import Affine, symbol
from jitney.converter.load import load
from jitney.converter.lower import lower
from jitney.errors import Error, InvalidInput, InvalidModel, IoError, Unsupported


def relu_model(**changes: object) -> onnx.ModelProto:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], [value("x", [1, 3])], [value("y", [1, 3])])
    for key, change in changes.items():
        setattr(model, key, change)
    return model


def conv_bytes() -> bytes:
    weight = numpy_helper.from_array(floats(4, 3, 3, 3), "w")
    model = model_of([helper.make_node("Conv", ["x", "w"], ["y"])], [value("x", [1, 3, 8, 8])], [value("y")], [weight])
    return bytes(model.SerializeToString())


@pytest.mark.parametrize("length", [0, 1, 7, 50, 200, -1])
def test_truncated_files(tmp_path: Path, length: int) -> None:
    (tmp_path / "m.onnx").write_bytes(conv_bytes()[:length])
    with pytest.raises(InvalidModel):
        convert(tmp_path / "m.onnx", tmp_path / "m.jny")
    assert not (tmp_path / "m.jny").exists()


def test_random_bytes() -> None:
    random = np.random.default_rng(0)
    for size in (1, 10, 100, 1000):
        for _ in range(50):
            with pytest.raises(InvalidModel):
                load(random.bytes(size))


def test_flipped_bits_never_escape_as_other_errors(tmp_path: Path) -> None:
    data = conv_bytes()
    random = np.random.default_rng(1)
    for _ in range(150):
        damaged = bytearray(data)
        damaged[int(random.integers(0, 120))] ^= 1 << int(random.integers(0, 8))
        with contextlib.suppress(Error):
            convert(bytes(damaged), tmp_path / "m.jny", verify=False)


def test_missing_and_odd_paths(tmp_path: Path) -> None:
    with pytest.raises(IoError, match="no file"):
        load(tmp_path / "none.onnx")
    for path in (tmp_path, "a\0b", "\ud800"):
        with pytest.raises(IoError, match="cannot be read"):
            load(path)
    with pytest.raises(InvalidInput, match="wanted"):
        load(42)  # type: ignore[arg-type]


def test_text_that_is_no_utf8() -> None:
    model = model_of([helper.make_node("Relu", ["xx"], ["yy"], name="nn")], [value("xx", ["dd"])], [value("yy", ["dd"])])
    for text in (b"xx", b"yy", b"nn", b"dd", b"Relu"):
        with pytest.raises(InvalidModel, match="UTF-8"):
            load(model.SerializeToString().replace(text, b"\xc4" * len(text)))


def test_attributes_without_a_type() -> None:
    """As the first versions of ONNX wrote them."""
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1], group=1, auto_pad="NOTSET")
    model = model_of([node], [value("x", [1, 3, 5, 5])], [value("y")], [numpy_helper.from_array(floats(4, 3, 3, 3), "w")])
    typed = run_jny(model, {"x": floats(1, 3, 5, 5)})
    for attribute in model.graph.node[0].attribute:
        attribute.ClearField("type")
    assert np.array_equal(run_jny(model, {"x": floats(1, 3, 5, 5)})["y"], typed["y"])


def test_other_kinds_of_files(tmp_path: Path) -> None:
    for data, text in (
        (b"\x89JNY\r\n\x1a\n" + bytes(100), "Jitney model already"),
        (b"version https://git-lfs.github.com/spec/v1\n", "LFS"),
    ):
        with pytest.raises(InvalidModel, match=text):
            load(data)


def test_an_unwritable_target(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IoError, match="cannot be written"):
        convert(relu_model(), tmp_path / "file" / "m.jny", verify=False)
    for path in ("a\0b", "\ud800", tmp_path):
        with pytest.raises(IoError, match="cannot be written"):
            convert(relu_model(), path, verify=False)
    with pytest.raises(IoError):
        convert(relu_model())


def test_a_target_without_a_folder_is_refused_before_the_model_is_loaded(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(IoError, match="there is no folder") as caught:
        convert("nowhere.onnx", missing / "m.jny")
    assert caught.value.hint == f"mkdir -p {missing}"
    for path in (str(tmp_path), f"{missing}/"):
        with pytest.raises(IoError, match="it is a folder") as caught:
            convert("nowhere.onnx", path)
        assert caught.value.hint == f"name a file: {Path(path) / 'model.jny'}"
    assert not missing.exists()


def test_a_target_that_is_the_source(tmp_path: Path) -> None:
    model = relu_model()
    model.graph.initializer.append(numpy_helper.from_array(np.zeros(8, np.float32), "w"))
    path = tmp_path / "m.onnx"
    onnx.save(model, path, save_as_external_data=True, location="m.bin", size_threshold=0)
    (tmp_path / "link").symlink_to(path)
    before = {name: (tmp_path / name).read_bytes() for name in ("m.onnx", "m.bin")}
    for name in ("m.onnx", "m.bin", "link"):
        with pytest.raises(InvalidInput, match="ONNX model itself"):
            convert(path, tmp_path / name)
    assert before == {name: (tmp_path / name).read_bytes() for name in before}


def test_a_source_without_a_name() -> None:
    for path in ("", ".", "/"):
        with pytest.raises(IoError):
            convert(path)


def test_an_opset_before_the_first() -> None:
    model = relu_model()
    model.opset_import[0].version = 0
    with pytest.raises(Unsupported, match="opset 0"):
        load(model)


def test_an_opset_that_is_too_new() -> None:
    model = relu_model()
    model.opset_import[0].version = 1000
    with pytest.raises(Unsupported, match="upgrade"):
        load(model)


def test_unused_domains_do_not_matter() -> None:
    model = relu_model()
    model.opset_import.append(helper.make_opsetid("com.example", 3))
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 999))
    assert load(model).opsets == {"": 17}


def test_the_other_spelling_of_the_domain() -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"], domain="ai.onnx")], [value("x", [2])], [value("y")])
    assert run_jny(model, {"x": np.array([-1, 1], np.float32)})["y"].tolist() == [0, 1]


def test_no_opset_no_graph_no_outputs() -> None:
    model = relu_model()
    del model.opset_import[:]
    with pytest.raises(InvalidModel, match="opset"):
        load(model)
    with pytest.raises(InvalidModel, match="no graph"):
        load(onnx.ModelProto(ir_version=8))
    model = relu_model()
    del model.graph.output[:]
    with pytest.raises(InvalidModel, match="no outputs"):
        lower(load(model))


def test_duplicate_definitions() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["x"], ["y"])]
    with pytest.raises(InvalidModel, match="'y' is defined twice"):
        lower(load(model_of(nodes, [value("x", [2])], [value("y")])))
    clash = [helper.make_node("Relu", ["x"], ["x"])]
    with pytest.raises(InvalidModel, match="'x' is defined twice"):
        lower(load(model_of(clash, [value("x", [2])], [value("x")])))
    twice = [numpy_helper.from_array(floats(2), "w"), numpy_helper.from_array(floats(2), "w")]
    with pytest.raises(InvalidModel, match="'w' is defined twice"):
        lower(load(model_of([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", [2])], [value("y")], twice)))
    with pytest.raises(InvalidModel, match="declared twice"):
        lower(load(model_of([helper.make_node("Relu", ["x"], ["y"])], [value("x", [2]), value("x", [2])], [value("y")])))


def test_undefined_values_and_cycles() -> None:
    with pytest.raises(InvalidModel, match="'missing'"):
        lower(load(model_of([helper.make_node("Add", ["x", "missing"], ["y"])], [value("x", [2])], [value("y")])))
    with pytest.raises(InvalidModel, match="output 'z'"):
        lower(load(model_of([helper.make_node("Relu", ["x"], ["y"])], [value("x", [2])], [value("z")])))
    cycle = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    with pytest.raises(InvalidModel, match="cycle"):
        lower(load(model_of(cycle, [value("x", [2])], [value("b")])))


def test_nodes_out_of_order_are_put_in_order() -> None:
    nodes = [helper.make_node("Neg", ["h"], ["y"]), helper.make_node("Relu", ["x"], ["h"])]
    assert run_jny(model_of(nodes, [value("x", [2])], [value("y")]), {"x": np.array([-1, 2], np.float32)})["y"].tolist() == [
        0,
        -2,
    ]


def test_node_names_are_made_unique() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="n"),
        helper.make_node("Neg", ["a"], ["b"], name="n"),
        helper.make_node("Exp", ["b"], ["y"]),
    ]
    names = [node.name for node in lower(load(model_of(nodes, [value("x", [2])], [value("y")]))).graph.nodes]
    assert names == ["n", "n.1", "y"]


def test_initializers_that_are_inputs_too_are_constants() -> None:
    weight = numpy_helper.from_array(floats(2), "w")
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", [2]), value("w", [2])], [value("y")], [weight])
    lowered = lower(load(model))
    assert [inner.name for inner in lowered.graph.inputs] == ["x"]
    np.testing.assert_array_equal(run_jny(model, {"x": np.zeros(2, np.float32)})["y"], floats(2))


def test_weights_through_constant_and_identity() -> None:
    nodes = [
        helper.make_node("Constant", [], ["w0"], value=numpy_helper.from_array(floats(4, 3, 1, 1))),
        helper.make_node("Identity", ["w0"], ["w"]),
        helper.make_node("Conv", ["x", "w"], ["y"]),
    ]
    lowered = lower(load(model_of(nodes, [value("x", [1, 3, 4, 4])], [value("y")])))
    assert [node.op for node in lowered.graph.nodes] == ["conv"]
    assert lowered.graph.nodes[0].inputs[1] is not None and lowered.graph.nodes[0].inputs[1].is_constant


def test_stored_int8_weights_stay_int8(tmp_path: Path) -> None:
    from jitney import Session

    weight = np.random.default_rng(0).integers(-128, 128, (64, 64)).astype(np.int8)
    nodes = [helper.make_node("DequantizeLinear", ["q", "s"], ["w"]), helper.make_node("MatMul", ["x", "w"], ["y"])]
    constants = [numpy_helper.from_array(weight, "q"), numpy_helper.from_array(np.array(0.1, np.float32), "s")]
    report = convert(model_of(nodes, [value("x", ["N", 64])], [value("y")], constants), tmp_path / "m.jny")
    assert report.verification.outcome == "verified"
    assert report.bytes < 64 * 64 * 2
    assert Session(tmp_path / "m.jny")


def test_sparse_initializers() -> None:
    values = numpy_helper.from_array(np.array([1.5, 2.5], np.float32), "w")
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", [2, 3])], [value("y")])
    model.graph.sparse_initializer.append(
        helper.make_sparse_tensor(values, numpy_helper.from_array(np.array([1, 5], np.int64), "i"), [2, 3])
    )
    expected = np.array([[0, 1.5, 0], [0, 0, 2.5]], np.float32)
    np.testing.assert_array_equal(run_jny(model, {"x": np.zeros((2, 3), np.float32)})["y"], expected)


@pytest.mark.parametrize("size", [-1, 0])
def test_a_batch_written_as_minus_one_or_zero_is_open(size: int) -> None:
    lowered = lower(load(model_of([helper.make_node("Relu", ["x"], ["y"])], [value("x", [size, 3])], [value("y")])))
    assert lowered.graph.inputs[0].shape == [symbol("x_0"), 3]


def test_names_of_open_sizes() -> None:
    infos = [value("x", ["N", "floor(H/2)+1", "?", "?"]), value("y", ["N", "floor(H/2)+1", "p2o.Dim.0", ""])]
    model = model_of(
        [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["y"], ["b"])], infos, [value("a"), value("b")]
    )
    x, y = lower(load(model)).graph.inputs
    assert x.shape is not None and y.shape is not None
    assert [str(dim) for dim in x.shape] == ["N", "floor_H_2_1", "x_2", "x_3"]
    assert [str(dim) for dim in y.shape] == ["N", "floor_H_2_1", "p2o.Dim.0", "y_3"]


def test_shapes_given_by_the_user() -> None:
    infos = [value("x", ["N", 3]), value("y", ["N", "M"])]
    model = model_of(
        [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["y"], ["b"])], infos, [value("a"), value("b")]
    )
    x, y = lower(load(model), {"x": (2, 3)}).graph.inputs
    assert x.shape == [2, 3] and y.shape == [2, Affine(0, (("M", 1),))]
    for wrong, text in (
        ({"z": (1,)}, "'z'"),
        ({"x": (1, 2, 3)}, "dimensions"),
        ({"x": (1, 4)}, "fixes 3"),
        ({"x": (-1, 3)}, "-1"),
    ):
        with pytest.raises(InvalidInput, match=text):
            lower(load(model), wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="disagree"):
        lower(load(model), {"x": (1, 3), "y": (2, 2)})


def test_strings_sequences_and_missing_types() -> None:
    for info, error in (
        (value("x", [1], TensorProto.STRING), Unsupported),
        (helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, None), Unsupported),
        (helper.make_empty_tensor_value_info("x"), InvalidModel),
        (value("x", [1], 99), InvalidModel),
    ):
        with pytest.raises(error):
            lower(load(model_of([helper.make_node("Relu", ["x"], ["y"])], [info], [value("y")])))


def test_an_input_of_unknown_rank() -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], [value("x")], [value("y")])
    assert run_jny(model, {"x": floats(2, 3)})["y"].shape == (2, 3)


@pytest.mark.parametrize(
    "change",
    [
        lambda tensor: tensor.dims.append(5),
        lambda tensor: tensor.dims.__setitem__(0, -4),
        lambda tensor: tensor.dims.__setitem__(0, 1 << 62),
        lambda tensor: setattr(tensor, "raw_data", tensor.raw_data[:-1]),
        lambda tensor: setattr(tensor, "data_type", 77),
        lambda tensor: setattr(tensor, "data_type", 0),
    ],
)
def test_tensors_that_do_not_add_up(change: Callable[[onnx.TensorProto], None]) -> None:
    model = model_of(
        [helper.make_node("Add", ["x", "w"], ["y"])], [value("x", [4])], [value("y")], [numpy_helper.from_array(floats(4), "w")]
    )
    change(model.graph.initializer[0])
    with pytest.raises(InvalidModel, match="'w'"):
        lower(load(model))


def external_model(location: str, offset: int = 0, length: int = 16) -> onnx.ModelProto:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, text in (("location", location), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=text)
    return model_of([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", [4])], [value("y")], [tensor])


def test_external_data(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(8) + floats(4).tobytes())
    onnx.save(external_model("w.bin", 8), tmp_path / "m.onnx")
    report = convert(tmp_path / "m.onnx", tmp_path / "m.jny")
    assert report.verification.outcome == "verified"


@pytest.mark.parametrize(
    ("location", "offset", "length", "text"),
    [
        ("../secret.bin", 0, 16, "outside"),
        ("/etc/passwd", 0, 16, "outside"),
        ("w.bin", 8, 16, "which has 16"),
        ("w.bin", -1, 16, "bytes"),
        ("w.bin", 0, 12, "needs 16 bytes"),
        ("", 0, 16, "outside"),
    ],
)
def test_external_data_that_is_wrong(tmp_path: Path, location: str, offset: int, length: int, text: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(16))
    (tmp_path / "folder" / "w.bin").write_bytes(bytes(16))
    path = tmp_path / "folder" / "m.onnx"
    path.write_bytes(external_model(location, offset, length).SerializeToString())
    with pytest.raises(InvalidModel, match=text):
        lower(load(path))


def test_external_data_without_a_path() -> None:
    with pytest.raises(InvalidModel, match="external file"):
        lower(load(external_model("w.bin")))


def test_all_unsupported_nodes_are_listed() -> None:
    nodes = [
        helper.make_node("RegexFullMatch", ["x"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("RegexFullMatch", ["b"], ["c"], name="second"),
        helper.make_node("Nonsense", ["c"], ["d"], name="third"),
        helper.make_node("Special", ["d"], ["y"], domain="com.example", name="fourth"),
    ]
    model = model_of(nodes, [value("x", [2, 2])], [value("y")])
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    with pytest.raises(Unsupported) as caught:
        lower(load(model))
    text = str(caught.value)
    assert text.startswith("4 nodes")
    for part in (
        "2 × RegexFullMatch (opset 17)",
        "'first', 'second'",
        "Nonsense (opset 17)",
        "'third'",
        "Special (opset com.example 1)",
        "'fourth'",
    ):
        assert part in text
    assert "--check" in caught.value.hint


def test_unsupported_ops_inside_branches_and_functions_are_named() -> None:
    then = helper.make_graph([helper.make_node("RegexFullMatch", ["x"], ["t"], name="inside")], "t", [], [value("t")])
    otherwise = helper.make_graph([helper.make_node("ReduceSum", ["x"], ["e"], keepdims=0)], "e", [], [value("e")])
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise)
    with pytest.raises(Unsupported, match="inside"):
        lower(load(model_of([node], [value("c", [], TensorProto.BOOL), value("x", [2, 2])], [value("y")])))


def test_wrong_attributes_and_operand_counts() -> None:
    for node, text in (
        (helper.make_node("Concat", ["x"], ["y"]), "'axis' is missing"),
        (helper.make_node("LeakyRelu", ["x"], ["y"], alpha=1), "type INT"),
        (helper.make_node("Relu", ["x", "x"], ["y"]), "2 operands"),
        (helper.make_node("Add", ["x", ""], ["y"]), "operand 1 is missing"),
        (helper.make_node("Conv", ["x", "x"], ["y"]), "the weights have"),
    ):
        with pytest.raises(InvalidModel, match=text):
            lower(load(model_of([node], [value("x", [2, 2])], [value("y")])))


def test_an_attribute_that_is_not_known_is_a_warning() -> None:
    loaded = load(model_of([helper.make_node("Relu", ["x"], ["y"], colour=3)], [value("x", [2])], [value("y")]))
    lower(loaded)
    assert any("'colour'" in warning for warning in loaded.warnings)


def test_the_checker_only_warns() -> None:
    model = relu_model()
    model.graph.name = ""
    loaded = load(model)
    assert any("checker" in warning for warning in loaded.warnings)
    check_model(model, {"x": floats(1, 3)})


def test_a_shape_contradiction_names_the_node(tmp_path: Path) -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")]
    model = model_of(nodes, [value("x", [2, 3])], [value("y")], [numpy_helper.from_array(floats(4, 5), "w")])
    with pytest.raises(InvalidModel, match="product"):
        convert(model, tmp_path / "m.jny")


def test_outputs_that_are_inputs_constants_or_the_same_value() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["y"]),
        helper.make_node("Identity", ["y"], ["z"]),
        helper.make_node("Constant", [], ["c"], value_float=2.0),
    ]
    model = model_of(nodes, [value("x", [2])], [value("x"), value("y"), value("z"), value("c")])
    results = run_jny(model, {"x": np.array([-1, 2], np.float32)})
    assert {name: array.tolist() for name, array in results.items()} == {"x": [-1, 2], "y": [0, 2], "z": [0, 2], "c": 2.0}
