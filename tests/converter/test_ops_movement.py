"""Data movement, indexing, shapes and generators in all their versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper
from op_check import check, check_model, floats, int64s, make_model, model_of, over_versions, run_jny, value, versions


@over_versions("Reshape")
@pytest.mark.parametrize("target", [(6, 4), (-1,), (0, -1), (2, 0, 4), (1, 2, 3, 4), (0, 0, 0)])
def test_reshape(op: str, opset: int, target: tuple[int, ...]) -> None:
    check(op, [floats(2, 3, 4), int64s(*target)], opset=opset, constants=[1])


@over_versions("Reshape")
def test_reshape_to_a_shape_that_is_fed(op: str, opset: int) -> None:
    check(op, [floats(2, 3, 4), int64s(4, -1)], opset=opset)


@over_versions("Reshape", least=14)
def test_reshape_allowing_zero(op: str, opset: int) -> None:
    check(op, [floats(0, 3), int64s(3, 0)], opset=opset, allowzero=1, constants=[1])


@over_versions("Flatten")
def test_flatten(op: str, opset: int) -> None:
    check(op, [floats(2, 3, 4)], opset=opset)
    for axis in range(-1 if opset >= 11 else 0, 4):
        check(op, [floats(2, 3, 4)], opset=opset, axis=axis)


@pytest.mark.parametrize("opset", versions("Squeeze", most=12))
def test_squeeze_with_attribute(opset: int) -> None:
    check("Squeeze", [floats(1, 3, 1, 4)], opset=opset, axes=[0, 2])
    check("Squeeze", [floats(1, 3, 1, 4)], opset=opset, symbolic=False)


@over_versions("Squeeze", least=13)
def test_squeeze(op: str, opset: int) -> None:
    check(op, [floats(1, 3, 1, 4), int64s(0, -2)], opset=opset, constants=[1])
    check(op, [floats(1, 3, 1, 4), int64s(0)], opset=opset)
    check(op, [floats(1, 3, 1, 4)], opset=opset, symbolic=False)


@pytest.mark.parametrize("opset", versions("Unsqueeze", most=12))
def test_unsqueeze_with_attribute(opset: int) -> None:
    check("Unsqueeze", [floats(3, 4)], opset=opset, axes=[0, 3])


@over_versions("Unsqueeze", least=13)
def test_unsqueeze(op: str, opset: int) -> None:
    check(op, [floats(3, 4), int64s(-1, 0)], opset=opset, constants=[1])
    check(op, [floats(3, 4), int64s(1)], opset=opset)


@over_versions("Transpose")
def test_transpose(op: str, opset: int) -> None:
    check(op, [floats(2, 3, 4)], opset=opset)
    check(op, [floats(2, 3, 4)], opset=opset, perm=[1, 0, 2])
    check(op, [np.arange(6, dtype=np.int64).reshape(2, 3)], opset=opset)


@pytest.mark.parametrize("opset", [7, 9])
def test_slice_with_attributes(opset: int) -> None:
    check("Slice", [floats(4, 5, 6)], opset=opset, starts=[1, -3], ends=[3, 1000], axes=[0, 2])
    check("Slice", [floats(4, 5, 6)], opset=opset, starts=[1, 2], ends=[3, 5])


@over_versions("Slice", least=10)
@pytest.mark.parametrize(
    "bounds",
    [
        ([1], [3]),
        ([1, -3], [3, 1000], [0, 2]),
        ([0, 5], [4, -(2**63)], [0, 2], [2, -2]),
        ([-1], [-(2**31)], [1], [-1]),
        ([3], [1], [0]),
        ([-(2**63)], [2**63 - 1], [1], [3]),
    ],
)
def test_slice(op: str, opset: int, bounds: tuple[list[int], ...]) -> None:
    lists = [int64s(*numbers) for numbers in bounds]
    check(op, [floats(4, 5, 6), *lists], opset=opset, constants=[1, 2, 3, 4])
    check(op, [floats(4, 5, 6), *lists], opset=opset)


@pytest.mark.parametrize("opset", versions("Split", most=12))
def test_split_with_attribute(opset: int) -> None:
    check("Split", [floats(6, 4)], opset=opset, outputs=3)
    check("Split", [floats(6, 4)], opset=opset, outputs=2, split=[1, 3], axis=1)


@over_versions("Split", least=13)
def test_split(op: str, opset: int) -> None:
    check(op, [floats(6, 4), int64s(1, 3)], opset=opset, outputs=2, axis=-1, constants=[1])
    check(op, [floats(6, 4), int64s(1, 3)], opset=opset, outputs=2, axis=1)
    equal = {"num_outputs": 3} if opset >= 18 else {}
    check(op, [floats(6, 4)], opset=opset, outputs=3, **equal)


@over_versions("Split", least=18)
def test_split_with_a_smaller_last_part(op: str, opset: int) -> None:
    check(op, [floats(7, 2)], opset=opset, outputs=3, num_outputs=3)


def test_split_with_an_unused_result() -> None:
    x = floats(6, 4)  # ONNX Runtime crashes on this one
    results = run_jny(make_model("Split", [x], opset=13, outputs=["a", "", "c"]), {"x0": x})
    assert list(results) == ["a", "c"]
    np.testing.assert_array_equal(results["a"], x[:2])
    np.testing.assert_array_equal(results["c"], x[4:])


@over_versions("Concat")
def test_concat(op: str, opset: int) -> None:
    check(op, [floats(2, 3), floats(2, 1, seed=1), floats(2, 4, seed=2)], opset=opset, axis=1)
    check(op, [floats(2, 3)], opset=opset, axis=0)
    check(op, [np.array([1], np.int64), np.array([2, 3], np.int64)], opset=opset, axis=0)


@over_versions("Expand", least=8)
@pytest.mark.parametrize("target", [(2, 3, 4), (3, 1), (5, 1, 1, 4), (1,)])
def test_expand(op: str, opset: int, target: tuple[int, ...]) -> None:
    check(op, [floats(3, 4) if target != (2, 3, 4) else floats(3, 1), int64s(*target)], opset=opset, constants=[1])
    check(op, [floats(3, 4) if target != (2, 3, 4) else floats(3, 1), int64s(*target)], opset=opset)


@over_versions("Tile")
def test_tile(op: str, opset: int) -> None:
    check(op, [floats(2, 3), int64s(2, 1)], opset=opset, constants=[1])
    check(op, [floats(2, 3), int64s(1, 3)], opset=opset)


@pytest.mark.parametrize("opset", [7, 10])
@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
def test_pad_with_attributes(opset: int, mode: str) -> None:
    check("Pad", [floats(3, 4)], opset=opset, mode=mode, pads=[1, 0, 2, 1])
    check("Pad", [floats(3, 4)], opset=opset, mode="constant", pads=[1, 0, 2, 1], value=1.5)
    check("Pad", [floats(3, 4)], opset=opset, pads=[-1, 0, 0, -1])


@over_versions("Pad", least=11)
def test_pad(op: str, opset: int) -> None:
    for mode in ["constant", "reflect", "edge"] + (["wrap"] if opset >= 19 else []):
        check(op, [floats(3, 4), int64s(1, 0, 2, 1)], opset=opset, mode=mode, constants=[1])
        check(op, [floats(3, 4), int64s(0, 2, 1, 1)], opset=opset, mode=mode)
        if opset >= 18:
            check(op, [floats(3, 4), int64s(1, 2), None, int64s(-1)], opset=opset, mode=mode, constants=[1, 3])
    check(op, [floats(3, 4), int64s(1, 0, 2, 1), np.array(2.5, np.float32)], opset=opset)
    check(op, [np.ones((2, 2), np.int64), int64s(1, 0, 0, 1), np.array(7, np.int64)], opset=opset, constants=[1, 2])


@over_versions("DepthToSpace")
def test_depth_to_space(op: str, opset: int) -> None:
    check(op, [floats(1, 8, 2, 3)], opset=opset, blocksize=2)
    for mode in ("DCR", "CRD") if opset >= 11 else ():
        check(op, [floats(1, 8, 2, 3)], opset=opset, blocksize=2, mode=mode)


@over_versions("SpaceToDepth")
def test_space_to_depth(op: str, opset: int) -> None:
    check(op, [floats(1, 2, 4, 6)], opset=opset, blocksize=2)


@over_versions("Gather")
@pytest.mark.parametrize("axis", [0, 1])
def test_gather(op: str, opset: int, axis: int) -> None:
    check(op, [floats(3, 4, 2), np.array([[0, 2], [1, 1]], np.int64)], opset=opset, axis=axis)
    check(op, [floats(3, 4, 2), np.array(1, np.int32)], opset=opset, axis=axis)
    if opset >= 11:
        check(op, [floats(3, 4, 2), int64s(-1)], opset=opset, axis=axis)


@over_versions("GatherElements")
def test_gather_elements(op: str, opset: int) -> None:
    check(op, [floats(3, 4), np.array([[0, 2, 1, -1]], np.int64)], opset=opset, axis=0)
    check(op, [floats(3, 4), np.array([[0, 2], [1, 1], [3, -4]], np.int32)], opset=opset, axis=-1)


@over_versions("GatherND")
def test_gather_nd(op: str, opset: int) -> None:
    check(op, [floats(3, 4, 2), np.array([[0, 1], [2, 3]], np.int64)], opset=opset)
    if opset >= 12:
        check(op, [floats(2, 4, 2), np.array([[1], [3]], np.int64)], opset=opset, batch_dims=1)


@pytest.mark.parametrize("opset", [9, 10])
def test_scatter(opset: int) -> None:
    check("Scatter", [floats(3, 4), np.array([[1, 0, 2, 1]], np.int64), floats(1, 4, seed=1)], opset=opset)


@over_versions("ScatterElements")
def test_scatter_elements(op: str, opset: int) -> None:
    operands = [floats(3, 4), np.array([[1, 0], [2, 3], [-1, 1]], np.int64), floats(3, 2, seed=1)]
    check(op, operands, opset=opset, axis=1)
    for reduction in ([] if opset < 16 else ["add", "mul"]) + ([] if opset < 18 else ["max", "min"]):
        check(op, operands, opset=opset, axis=1, reduction=reduction)


@over_versions("ScatterND")
def test_scatter_nd(op: str, opset: int) -> None:
    operands = [floats(4, 3), np.array([[1], [3]], np.int64), floats(2, 3, seed=1)]
    check(op, operands, opset=opset)
    for reduction in ([] if opset < 16 else ["add", "mul"]) + ([] if opset < 18 else ["max", "min"]):
        check(op, operands, opset=opset, reduction=reduction)


@over_versions("Shape")
def test_shape(op: str, opset: int) -> None:
    check(op, [floats(2, 3, 4)], opset=opset)
    for options in [] if opset < 15 else [{"start": 1}, {"end": -1}, {"start": -2, "end": 10}, {"start": 2, "end": 1}]:
        check(op, [floats(2, 3, 4)], opset=opset, **options)


@over_versions("Size")
def test_size(op: str, opset: int) -> None:
    check(op, [floats(2, 3, 4)], opset=opset)


@over_versions("ConstantOfShape")
def test_constant_of_shape(op: str, opset: int) -> None:
    check(op, [int64s(2, 3)], opset=opset)
    check(op, [int64s(2, 0)], opset=opset, value=numpy_helper.from_array(np.array([7], np.int64)))
    check(op, [np.zeros(0, np.int64)], opset=opset, value=numpy_helper.from_array(np.array([True])))


@over_versions("Range")
def test_range(op: str, opset: int) -> None:
    check(op, [np.array(2, np.int64), np.array(11, np.int64), np.array(3, np.int64)], opset=opset)
    check(op, [np.array(1.0, np.float32), np.array(-1.0, np.float32), np.array(-0.5, np.float32)], opset=opset)
    check(op, [np.array(5, np.int32), np.array(1, np.int32), np.array(1, np.int32)], opset=opset)


@over_versions("NonZero")
def test_non_zero(op: str, opset: int) -> None:
    check(op, [np.array([[1, 0, 2], [0, 3, 0]], np.float32)], opset=opset)
    check(op, [np.zeros((2, 2), bool)], opset=opset)


@pytest.mark.parametrize(
    ("opset", "attributes"),
    [
        (7, {"value": numpy_helper.from_array(np.arange(6, dtype=np.int32).reshape(2, 3))}),
        (11, {"value": numpy_helper.from_array(np.array(2.5, np.float64))}),
        (12, {"value_float": 1.5}),
        (12, {"value_floats": [1.5, 2.5]}),
        (13, {"value_int": -3}),
        (13, {"value_ints": [1, 2, 3]}),
    ],
)
def test_constant(opset: int, attributes: dict[str, Any]) -> None:
    check("Constant", [], opset=opset, **attributes)


def test_sparse_constant() -> None:
    values = numpy_helper.from_array(np.array([1.5, 2.5], np.float32), "v")
    for indices in (np.array([1, 5], np.int64), np.array([[0, 1], [1, 2]], np.int64)):
        sparse = helper.make_sparse_tensor(values, numpy_helper.from_array(indices, "i"), [2, 3])
        model = make_model("Constant", [], opset=13, attributes={"sparse_value": sparse})
        expected = np.array([[0, 1.5, 0], [0, 0, 2.5]], np.float32)
        np.testing.assert_array_equal(run_jny(model, {})["y0"], expected)


def test_shape_arithmetic_decides_a_reshape() -> None:
    """x [N, C, H, W] → [N, C·H, W], the way exporters spell it."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"], axis=0),
        helper.make_node("Gather", ["s", "one"], ["c"], axis=0),
        helper.make_node("Gather", ["s", "two"], ["h"], axis=0),
        helper.make_node("Mul", ["c", "h"], ["ch"]),
        helper.make_node("Unsqueeze", ["n", "axes"], ["n1"]),
        helper.make_node("Unsqueeze", ["ch", "axes"], ["ch1"]),
        helper.make_node("Concat", ["n1", "ch1", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    numbers = {"zero": np.array(0), "one": np.array(1), "two": np.array(2), "axes": np.array([0]), "rest": np.array([-1])}
    initializers = [numpy_helper.from_array(array.astype(np.int64), name) for name, array in numbers.items()]
    model = model_of(nodes, [value("x", ["N", "C", "H", "W"])], [value("y")], initializers)
    check_model(model, {"x": floats(2, 3, 4, 5)})
    check_model(model, {"x": floats(1, 2, 2, 7)})
