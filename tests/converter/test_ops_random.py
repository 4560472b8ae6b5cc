"""Random ops: with a seed, the numbers of NumPy's RandomState; without one, others each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import TensorProto, helper
from op_check import Array, assert_same, convert_bytes, floats, make_model, model_of, over_versions, run_jny, value

from jitney import Session
from jitney.errors import InvalidModel


def draw(
    op: str, inputs: list[Array], *, opset: int = 22, outputs: int = 1, symbolic: bool = False, **attributes: Any
) -> list[Array]:
    model = make_model(op, list(inputs), opset=opset, outputs=outputs, symbolic=symbolic, attributes=attributes)
    return list(run_jny(model, {f"x{i}": array for i, array in enumerate(inputs)}).values())


@over_versions("RandomUniform")
def test_uniform(op: str, opset: int) -> None:
    drawn = draw(op, [], opset=opset, shape=[3, 5], low=-2.0, high=4.0, seed=7.0)[0]
    assert_same(drawn, (np.random.RandomState(7).rand(3, 5) * 6 - 2).astype(np.float32))


@over_versions("RandomNormal")
def test_normal(op: str, opset: int) -> None:
    drawn = draw(op, [], opset=opset, shape=[3, 5], mean=1.0, scale=0.5, seed=7.0)[0]
    assert_same(drawn, (np.random.RandomState(7).randn(3, 5) * 0.5 + 1).astype(np.float32))


@over_versions("RandomUniformLike", "RandomNormalLike")
def test_like(op: str, opset: int) -> None:
    x = floats(2, 0, 3)
    assert draw(op, [x], opset=opset)[0].shape == (2, 0, 3)
    x = np.zeros((4, 3), np.float64)
    state = np.random.RandomState(3)
    expected = state.rand(4, 3) if op == "RandomUniformLike" else state.randn(4, 3)
    for symbolic in (False, True):
        assert_same(draw(op, [x], opset=opset, seed=3.0, symbolic=symbolic)[0], expected)
        assert_same(
            draw(op, [x], opset=opset, seed=3.0, dtype=TensorProto.FLOAT16, symbolic=symbolic)[0], expected.astype(np.float16)
        )


def test_dtypes_and_distribution() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        normal = draw("RandomNormal", [], shape=[100, 400], mean=2.0, scale=3.0, dtype=number)[0]
        assert normal.dtype == dtype
        assert abs(normal.astype(np.float64).mean() - 2) < 0.1
        assert abs(normal.astype(np.float64).std() - 3) < 0.1
        assert 0.66 < (np.abs(normal.astype(np.float64) - 2) < 3).mean() < 0.71
        uniform = draw("RandomUniform", [], shape=[40000], low=1.0, high=3.0, dtype=number)[0].astype(np.float64)
        assert uniform.min() >= 1 and uniform.max() <= 3
        assert np.histogram(uniform, 10, (1, 3))[0].min() > 3600


def test_unseeded_numbers_differ() -> None:
    """From node to node, from run to run and from session to session; nothing is folded or shared."""
    nodes = [helper.make_node("RandomNormal", [], [name], shape=[4]) for name in ("a", "b")]
    model = model_of(nodes, [], [value("a"), value("b")], opset=22)
    data = convert_bytes(model)
    seen: list[npt.NDArray[np.float32]] = []
    for _ in range(2):
        with Session(data) as session:
            seen += [array for _ in range(2) for array in session.run({}).values()]
    assert len({array.tobytes() for array in seen}) == 8


def test_seeded_numbers_repeat() -> None:
    data = convert_bytes(make_model("RandomNormal", [], opset=22, attributes={"shape": [4], "seed": 5.0}))
    runs = []
    for _ in range(2):
        with Session(data) as session:
            runs += [session.run({})["y0"] for _ in range(2)]
    assert all(np.array_equal(run, runs[0]) for run in runs)


@over_versions("Bernoulli")
def test_bernoulli(op: str, opset: int) -> None:
    x = np.tile(np.array([0, 0.25, 1], np.float32), (4000, 1))
    drawn = draw(op, [x], opset=opset, dtype=TensorProto.INT32)[0]
    assert drawn.dtype == np.int32
    assert (drawn[:, 0] == 0).all() and (drawn[:, 2] == 1).all()
    assert 0.2 < drawn[:, 1].mean() < 0.3
    y = draw(op, [x.astype(np.float64)], opset=opset, seed=1.0)[0]
    assert_same(y, (np.random.RandomState(1).rand(4000, 3) < x).astype(np.float64))


@over_versions("Multinomial")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_multinomial(op: str, opset: int, dtype: type) -> None:
    odds = np.log(np.array([[1, 2, 1, 1e-9], [1e-9, 1, 0.5, 2.5]])).astype(dtype)
    for symbolic in (False, True):
        drawn = draw(op, [odds], opset=opset, sample_size=8000, dtype=TensorProto.INT64, symbolic=symbolic)[0]
        assert drawn.shape == (2, 8000) and drawn.dtype == np.int64
        for row, wanted in zip(drawn, ([0.25, 0.5, 0.25, 0], [0, 0.25, 0.125, 0.625])):
            assert np.abs(np.bincount(row, minlength=4) / 8000 - wanted).max() < 0.04
    assert draw(op, [odds], opset=opset)[0].dtype == np.int32


@pytest.mark.parametrize("opset", [12, 13, 22])
def test_dropout_in_training(opset: int) -> None:
    x = np.ones((50, 60), np.float32)
    y, mask = draw("Dropout", [x, np.array(0.25, np.float32), np.array(True)], opset=opset, outputs=2, seed=4)
    expected = np.random.RandomState(4).rand(50, 60) >= 0.25
    assert_same(mask, expected)
    assert_same(y, (expected / 0.75).astype(np.float32))
    # A flag and a ratio that only the caller knows decide at run time.
    for training, ratio in ((False, 0.5), (True, 0.0)):
        y, mask = draw("Dropout", [x, np.array(ratio, np.float32), np.array(training)], opset=opset, outputs=2)
        assert_same(y, x)
        assert mask.all()
    constant = make_model("Dropout", [x, np.array(0.5, np.float32), np.array(True)], opset=opset, constants=(1, 2))
    kept = run_jny(constant, {"x0": x})["y0"]
    assert set(np.unique(kept)) == {0, 2} and 0.4 < (kept > 0).mean() < 0.6
    inference = make_model("Dropout", [x, np.array(0.5, np.float32), np.array(False)], opset=opset, constants=(1, 2))
    assert_same(run_jny(inference, {"x0": x})["y0"], x)


def test_a_type_that_is_no_float() -> None:
    with pytest.raises(InvalidModel, match="random numbers have dtype"):
        draw("RandomUniformLike", [np.zeros(3, np.int32)])
