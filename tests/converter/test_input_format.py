"""Pre-processing that is folded into a model: uint8 and channels-last inputs, means and factors, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from op_check import Array, model_of, rng, value

import jitney
from jitney import InputFormat, Session
from jitney.converter.convert import convert, convert_to_bytes, verify
from jitney.errors import InvalidInput

_MEAN, _STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)


def conv_model(
    channels: int = 3,
    filters: int = 8,
    kernel: int = 3,
    stride: int = 2,
    pad: int = 1,
    batch: int | str = 1,
    size: int | str = 12,
    dtype: int = TensorProto.FLOAT,
) -> object:
    w = rng(channels + filters + kernel).standard_normal((filters, channels, kernel, kernel)).astype(np.float32)
    bias = rng(3).standard_normal(filters).astype(np.float32)
    nodes = [
        helper.make_node(
            "Conv", ["x", "w", "b"], ["c"], strides=[stride] * 2, pads=[pad] * 4, kernel_shape=[kernel] * 2, name="conv"
        ),
        helper.make_node("Relu", ["c"], ["y"], name="relu"),
    ]
    np_type = helper.tensor_dtype_to_np_dtype(dtype)
    constants = [numpy_helper.from_array(w.astype(np_type), "w"), numpy_helper.from_array(bias.astype(np_type), "b")]
    return model_of(nodes, [value("x", [batch, channels, size, size], dtype)], [value("y", None, 0)], constants)  # type: ignore[list-item]


def kernels(session: Session, shape: tuple[int, ...]) -> list[tuple[str, str]]:
    return [(step.op, step.kernel) for step in session.plan_report({"x": shape}).steps]


@pytest.mark.parametrize("pad", [0, 1])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("words", ["uint8", "uint8,nhwc", "uint8,nhwc,bgr2rgb", "nhwc", "float32,rgb2bgr"])
def test_formats_are_verified(words: str, kernel: int, stride: int, pad: int, tmp_path: Path) -> None:
    for numbers in ("", ",mean=127.5,scale=0.0078", f",mean={','.join(map(str, _MEAN))},std={','.join(map(str, _STD))}"):
        report = convert(conv_model(kernel=kernel, stride=stride, pad=pad), tmp_path / "m.jny", inputs={"x": words + numbers})
        assert report.verification.outcome == "verified", report
        assert verify(tmp_path / "m.jny", conv_model(kernel=kernel, stride=stride, pad=pad)).outcome == "verified"


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("threads", [1, 3])
def test_results_are_those_of_prepared_pixels(channels: int, threads: int) -> None:
    mean, std = [float(10 * c + 1) for c in range(channels)], [float(c + 2) for c in range(channels)]
    model = conv_model(channels=channels, filters=20, batch="N", size="S")
    form = InputFormat(dtype="uint8", layout="nhwc", mean=tuple(mean), std=tuple(std))
    pixels = rng(channels).integers(0, 256, (5, 33, 33, channels)).astype(np.uint8)
    prepared = np.ascontiguousarray(((pixels - np.array(mean)) / np.array(std)).astype(np.float32).transpose(0, 3, 1, 2))
    with (
        Session(convert_to_bytes(model), threads=threads) as plain,
        Session(convert_to_bytes(model, inputs={"x": form}), threads=threads) as folded,
    ):
        assert folded.inputs[0].dtype == "uint8"
        assert folded.inputs[0].shape is not None
        assert folded.inputs[0].shape[3] == channels
        wanted, given = plain.run(prepared)["y"], folded.run(pixels)["y"]
        np.testing.assert_allclose(given, wanted, atol=2e-5 * np.abs(wanted).max())
        for row in range(5):
            np.testing.assert_array_equal(folded.run(pixels[row : row + 1])["y"][0], given[row])


def test_the_first_layer_reads_pixels_as_they_lie() -> None:
    form = f"uint8,nhwc,bgr2rgb,mean={','.join(map(str, _MEAN))},std={','.join(map(str, _STD))}"
    with Session(convert_to_bytes(conv_model(), inputs={"x": form})) as session:
        op, kernel = kernels(session, (1, 12, 12, 3))[0]
        assert (op, "firstconv" in kernel) == ("cast+add+conv", True)
        assert session.metadata["jitney.input.x"].startswith("uint8,nhwc,bgr2rgb,mean=123.675")
    with Session(convert_to_bytes(conv_model(pad=0), inputs={"x": form})) as session:  # the mean goes into the bias
        assert kernels(session, (1, 12, 12, 3))[0][0] == "cast+conv"
    with Session(convert_to_bytes(conv_model())) as session:
        assert kernels(session, (1, 3, 12, 12))[0][0] == "conv"
    with Session(convert_to_bytes(conv_model(), inputs={"x": "mean=1"})) as session:
        assert kernels(session, (1, 3, 12, 12))[0][0] == "add+conv"


def test_what_others_read_as_well_is_computed() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4),
        helper.make_node("ReduceMean", ["x"], ["mean"], keepdims=0),
    ]
    w = numpy_helper.from_array(rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32), "w")
    x = value("x", [1, 3, 5, 5])
    model = model_of(nodes, [x], [value("y", None, 0), value("mean", None, 0)], [w])  # type: ignore[list-item]
    pixels = rng(1).integers(0, 256, (1, 5, 5, 3)).astype(np.uint8)
    with Session(convert_to_bytes(model, inputs={"x": "uint8,nhwc,mean=100"})) as session:
        np.testing.assert_allclose(session.run(pixels)["mean"], pixels.mean() - 100, rtol=1e-5)


def test_a_model_that_has_its_channels_last_already(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["t", "w"], ["y"], pads=[1] * 4),
    ]
    w = numpy_helper.from_array(rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32), "w")
    model = model_of(nodes, [value("x", [1, 9, 9, 3])], [value("y", None, 0)], [w])  # type: ignore[list-item]
    for layout, shape in (("nhwc", (1, 9, 9, 3)), ("nchw", (1, 3, 9, 9))):
        report = convert(model, tmp_path / "m.jny", inputs={"x": f"uint8,{layout},mean=1,2,3,std=2"})
        assert report.verification.outcome == "verified"
        assert verify(tmp_path / "m.jny", model).outcome == "verified"
        with Session(tmp_path / "m.jny") as session:
            assert session.inputs[0].shape == shape
            assert session.plan_report().steps[0].op == "cast+add+conv"


@pytest.mark.parametrize("scaled", [False, True])
def test_what_reads_an_input_tells_its_layout_where_sizes_fit_both(scaled: bool) -> None:
    """Eight channels of a picture four wide look like four channels of another."""
    first = [helper.make_node("Div", ["x", "k"], ["s"])] if scaled else []
    x = "s" if scaled else "x"
    constants = [
        numpy_helper.from_array(rng(0).standard_normal((5, 8, 3, 3)).astype(np.float32), "w"),
        numpy_helper.from_array(np.float32(3), "k"),
    ]
    planar = model_of(
        [*first, helper.make_node("Conv", [x, "w"], ["y"], pads=[1] * 4)],
        [value("x", [1, 8, 6, 4])],
        [value("y", None, 0)],
        constants,
    )
    turned = model_of(
        [
            *first,
            helper.make_node("Transpose", [x], ["t"], perm=[0, 3, 1, 2]),
            helper.make_node("Conv", ["t", "w"], ["y"], pads=[1] * 4),
        ],
        [value("x", [1, 6, 4, 8])],
        [value("y", None, 0)],
        constants,
    )
    mean = tuple(float(c) for c in range(8))
    pixels = rng(1).integers(0, 256, (1, 6, 4, 8)).astype(np.uint8)
    prepared = (pixels - np.array(mean)).astype(np.float32)
    for model, fed in ((planar, prepared.transpose(0, 3, 1, 2)), (turned, prepared)):
        with Session(convert_to_bytes(model)) as plain:
            wanted = plain.run({"x": np.ascontiguousarray(fed)})["y"]
        with Session(convert_to_bytes(model, inputs={"x": InputFormat("uint8", "nhwc", mean=mean)})) as folded:
            np.testing.assert_allclose(folded.run({"x": pixels})["y"], wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT16, TensorProto.DOUBLE])
def test_models_of_other_floats(dtype: int, tmp_path: Path) -> None:
    nodes = [helper.make_node("Mul", ["x", "x"], ["y"])]
    model = model_of(nodes, [value("x", [1, 3, 4, 4], dtype)], [value("y", None, 0)])  # type: ignore[list-item]
    report = convert(model, tmp_path / "m.jny", inputs={"x": "uint8,nhwc,mean=127.5,std=58,59,60"})
    assert report.verification.outcome == "verified"


def test_open_sizes_and_a_batch_that_is_opened(tmp_path: Path) -> None:
    report = convert(conv_model(), tmp_path / "m.jny", dynamic_batch=True, inputs={"x": "uint8,nhwc,mean=127.5"})
    assert report.verification.outcome == "verified"
    with Session(tmp_path / "m.jny") as session:
        assert session.run(np.zeros((3, 12, 12, 3), np.uint8))["y"].shape[0] == 3
    model = conv_model(batch="N", size="S")
    assert convert(model, tmp_path / "o.jny", shapes={"x": (1, 3, 20, 20)}, inputs={"x": "uint8,nhwc"}).verification.ok
    assert verify(tmp_path / "o.jny", model).outcome == "verified"


def test_any_rank_takes_a_dtype_and_one_number(tmp_path: Path) -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], [value("x", [7])], [value("y", None, 0)])  # type: ignore[list-item]
    with Session(convert_to_bytes(model, inputs={"x": "uint8,mean=3,scale=2"})) as session:
        np.testing.assert_array_equal(session.run(np.arange(7, dtype=np.uint8))["y"], np.maximum((np.arange(7) - 3.0) * 2, 0))


def test_a_sample_is_what_the_converted_model_takes(tmp_path: Path) -> None:
    sample = {"x": np.full((1, 12, 12, 3), 7, np.uint8)}
    assert convert(conv_model(), tmp_path / "m.jny", inputs={"x": "uint8,nhwc"}, sample=sample).verification.ok


def test_text_and_back() -> None:
    for text in ("uint8", "nhwc", "uint8,nhwc,rgb2bgr,mean=1,2,3,std=4", "mean=-0.5,scale=0.25,1e-05,3"):
        assert str(InputFormat.parse(text)) == text
    assert InputFormat(mean=3) == InputFormat(mean=(3.0,)) == InputFormat(mean=[3])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("uint9", "'uint9' in 'uint9' is nothing that is known of an input"),
        ("", "is nothing that is known"),
        ("uint8,float32", "says the dtype a second time"),
        ("mean=1,mean=2", "says the mean a second time"),
        ("mean=a", "is no number"),
        ("mean=1,nhwc,2", "'2' in"),
        ("std=0", "std contains 0"),
        ("std=1,scale=1", "both scale and std"),
        ("mean=nan", "no finite number"),
        ("mean=1e39", "beyond what float32"),
        ("scale=-1e39", "beyond what float32"),
        ("std=1e-39", "beyond what float32"),
        ("mean=1,2", "mean has 2 numbers, but there are 3 channels"),
        ("std=1,2,3,4", "std has 4 numbers, but there are 3 channels"),
    ],
)
def test_errors(text: str, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        convert_to_bytes(conv_model(), inputs={"x": text})
    assert says in str(caught.value)
    assert "input 'x': " in str(caught.value)


def error_of(model: object, inputs: object) -> str:
    with pytest.raises(InvalidInput) as caught:
        convert_to_bytes(model, inputs=inputs)  # type: ignore[arg-type]
    return str(caught.value)


def test_errors_of_other_models() -> None:
    assert "the model's inputs are 'x'" in error_of(conv_model(), {"z": "uint8"})
    assert "bgr2rgb was given, but there are 4 channels" in error_of(conv_model(channels=4), {"x": "bgr2rgb"})
    assert "is of type int" in error_of(conv_model(), {"x": 3})
    assert "inputs is of type list" in error_of(conv_model(), ["x"])
    flat = model_of([helper.make_node("Relu", ["x"], ["y"])], [value("x", [7])], [value("y", None, 0)])  # type: ignore[list-item]
    assert "nhwc needs an input of 4 dimensions" in error_of(flat, {"x": "nhwc"})
    assert "this one has 1 dimensions" in error_of(flat, {"x": "mean=1,2"})
    whole = model_of([helper.make_node("Neg", ["x"], ["y"])], [value("x", [7], TensorProto.INT64)], [value("y", None, 0)])  # type: ignore[list-item]
    assert "the model takes int64 here" in error_of(whole, {"x": "uint8"})
    for wrong in ({"dtype": "int8"}, {"layout": "chwn"}, {"channels": "bgr"}, {"mean": (None,)}):
        with pytest.raises(InvalidInput):
            InputFormat(**wrong)  # type: ignore[arg-type]


def test_wrong_pixels_are_refused() -> None:
    with Session(convert_to_bytes(conv_model(), inputs={"x": "uint8,nhwc"})) as session:
        for wrong in (np.zeros((1, 12, 12, 3), np.float32), np.zeros((1, 3, 12, 12), np.uint8)):
            with pytest.raises(InvalidInput):
                session.run(wrong)


def test_python_names() -> None:
    assert "InputFormat" in jitney.__all__
    given: Array = InputFormat.parse("mean=1,2,3").mean  # type: ignore[assignment]
    assert given == (1.0, 2.0, 3.0)


def test_numbers_may_come_as_an_array() -> None:
    assert InputFormat(mean=np.array([1, 2, 3])).mean == (1.0, 2.0, 3.0)  # type: ignore[arg-type]
    assert InputFormat(std=np.float32(3)).std == (3.0,)  # type: ignore[arg-type]
