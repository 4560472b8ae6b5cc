"""Elementwise ops in all their versions."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from op_check import Array, check, floats, make_model, over_versions, rng, run_jny, versions

from jitney.converter.lower.elementwise import UNARY

_DOMAINS = {
    "Acosh": (1.0, 4.0),
    "Acos": (-1.0, 1.0),
    "Asin": (-1.0, 1.0),
    "Atanh": (-0.9, 0.9),
    "Log": (0.1, 4.0),
    "Sqrt": (0.0, 4.0),
}


@over_versions(*[op for op in UNARY if op not in ("Not", "BitwiseNot", "IsNaN")])
def test_unary(op: str, opset: int) -> None:
    low, high = _DOMAINS.get(op, (-3.0, 3.0))
    check(op, [rng().uniform(low, high, (2, 3, 5)).astype(np.float32)], opset=opset)


@over_versions("Abs", "Neg", "Sign")
def test_unary_integers(op: str, opset: int) -> None:
    check(op, [np.array([-7, 0, 3], np.int32)], opset=opset)


@over_versions("Exp", "Sigmoid", "Sqrt", "Tanh", "Relu", "Floor")
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_unary_other_floats(op: str, opset: int, dtype: type) -> None:
    check(op, [np.array([0.0, 0.3, 2.5], dtype)], opset=opset)


@pytest.mark.parametrize("opset", versions("Round"))
def test_round_takes_the_even_neighbour(opset: int) -> None:
    check("Round", [np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, 1e9], np.float32)], opset=opset)


@over_versions("Relu", "Sigmoid", "Exp", "Tanh", "Softplus", "Erf", "Log", "Sqrt", "Reciprocal", "Sign")
def test_unary_special_values(op: str, opset: int) -> None:
    check(op, [np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)], opset=opset)


@over_versions("Add", "Sub", "Mul", "Div", "Pow", "PRelu")
@pytest.mark.parametrize(
    ("a", "b"), [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((2, 3, 4), (3, 1)), ((2, 3, 4), ()), ((0, 3), (3,))]
)
def test_binary(op: str, opset: int, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    check(op, [np.abs(floats(*a)) if op == "Pow" else floats(*a), floats(*b, seed=1)], opset=opset)


@over_versions("Add", "Sub", "Mul", "Div")
@pytest.mark.parametrize(("a", "b"), [((3, 1), (1, 4)), ((4,), (2, 3, 4))])
def test_two_way_broadcasting(op: str, opset: int, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    check(op, [floats(*a), floats(*b, seed=1)], opset=opset)


@over_versions("Add", "Sub", "Mul", "Div")
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_binary_types(op: str, opset: int, dtype: type) -> None:
    check(op, [np.array([-7, 7, 100], dtype), np.array([2, -3, 7], dtype)], opset=opset)


@over_versions("Pow", least=13)
def test_pow_of_mixed_types(op: str, opset: int) -> None:
    check(op, [np.array([1, 2, 3], np.float32), np.array([2, 3, 0], np.int64)], opset=opset)
    check(op, [np.array([1, 2, 3], np.int32), np.array([2, 3, 0], np.int32)], opset=opset)


@over_versions("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", least=9)
def test_comparison(op: str, opset: int) -> None:
    takes_floats = op != "Equal" or opset >= 11
    for dtype in (np.int64, np.float32) if takes_floats else (np.int64,):
        check(op, [np.array([[1, 2, 3]], dtype), np.array([[2], [3]], dtype)], opset=opset)


@over_versions("And", "Or", "Xor")
def test_logical(op: str, opset: int) -> None:
    check(op, [np.array([[True, False]]), np.array([[True], [False]])], opset=opset)


@over_versions("Not")
def test_not(op: str, opset: int) -> None:
    check(op, [np.array([True, False])], opset=opset)


@over_versions("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def test_bitwise(op: str, opset: int) -> None:
    check(op, [np.array([12, 10, 255], np.int32), np.array([10, 6, -1], np.int32)], opset=opset)


@over_versions("BitwiseNot")
def test_bitwise_not(op: str, opset: int) -> None:
    check(op, [np.array([12, 0, 255], np.uint8)], opset=opset)


@over_versions("BitShift")
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_bit_shift(op: str, opset: int, direction: str) -> None:
    check(op, [np.array([16, 4, 1], np.uint8), np.array([1, 2, 3], np.uint8)], opset=opset, direction=direction)


@over_versions("Mod")
def test_mod(op: str, opset: int) -> None:
    a, b = np.array([-7, 7, -7, 7], np.int32), np.array([3, -3, -3, 3], np.int32)
    check(op, [a, b], opset=opset)
    check(op, [a.astype(np.float32), b.astype(np.float32)], opset=opset, fmod=1)


@over_versions("Max", "Min", "Sum", "Mean")
@pytest.mark.parametrize("count", [1, 2, 3])
def test_variadic(op: str, opset: int, count: int) -> None:
    check(op, [floats(2, 3, seed=seed) for seed in range(count)], opset=opset)


@over_versions("Max", "Min", "Sum", "Mean", least=8)
def test_variadic_broadcasting(op: str, opset: int) -> None:
    check(op, [floats(2, 3), floats(3, seed=1), floats(2, 1, seed=2)], opset=opset)


@over_versions("Max", "Min", least=12)
def test_max_of_integers_and_nan(op: str, opset: int) -> None:
    check(op, [np.array([1, -5, 3], np.int64), np.array([2, -6, 3], np.int64)], opset=opset)
    check(op, [np.array([np.nan, 1.0], np.float32), np.array([1.0, np.nan], np.float32)], opset=opset)


@over_versions("LeakyRelu", "Elu", "ThresholdedRelu", "Celu", "HardSigmoid", "Selu")
def test_activations_with_numbers(op: str, opset: int) -> None:
    check(op, [floats(2, 7)], opset=opset)
    check(op, [floats(2, 7)], opset=opset, alpha=0.3)


@over_versions("Gelu")
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(op: str, opset: int, approximate: str) -> None:
    check(op, [floats(2, 7)], opset=opset, approximate=approximate)


@over_versions("Swish")
@pytest.mark.parametrize("alpha", [1.0, 0.7])
def test_swish(op: str, opset: int, alpha: float) -> None:
    check(op, [floats(2, 7)], opset=opset, alpha=alpha)


@over_versions("Shrink")
def test_shrink(op: str, opset: int) -> None:
    check(op, [floats(2, 7)], opset=opset, lambd=0.4, bias=0.1)
    check(op, [np.arange(-4, 5, dtype=np.int32)], opset=opset, lambd=1.5, bias=0.5)
    check(op, [np.array([0, 1, 2, 255], np.uint8)], opset=opset, lambd=0.5, bias=0.5)


@over_versions("Erf")
def test_erf_of_integers(op: str, opset: int) -> None:
    check(op, [np.arange(-2, 3, dtype=np.int64)], opset=opset)


@over_versions("ThresholdedRelu", least=10)
def test_nothing_is_above_a_threshold_that_cannot_be_compared(op: str, opset: int) -> None:
    check(op, [np.array([np.nan, 3, 0.5, -np.inf, np.inf], np.float32)], opset=opset, alpha=1.0)


@pytest.mark.parametrize("opset", [7, 10])
def test_clip_with_attributes(opset: int) -> None:
    check("Clip", [floats(3, 4)], opset=opset)
    check("Clip", [floats(3, 4)], opset=opset, min=-0.5)
    check("Clip", [floats(3, 4)], opset=opset, min=-0.5, max=0.5)


@over_versions("Clip", least=11)
def test_clip_with_operands(op: str, opset: int) -> None:
    low, high = np.array(-0.5, np.float32), np.array(0.5, np.float32)
    check(op, [floats(3, 4)], opset=opset)
    check(op, [floats(3, 4), low], opset=opset)
    check(op, [floats(3, 4), None, high], opset=opset)
    check(op, [floats(3, 4), low, high], opset=opset)
    if opset >= 12:
        check(op, [np.array([-5, 0, 9], np.int64), np.array(-1, np.int64), np.array(3, np.int64)], opset=opset)


@over_versions("Cast")
@pytest.mark.parametrize("to", [np.int32, np.int64, np.uint8, np.int8, np.float16, np.float64, np.bool_])
def test_cast(op: str, opset: int, to: type) -> None:
    number = helper.np_dtype_to_tensor_dtype(np.dtype(to))
    check(op, [np.array([0.0, 0.6, 1.0, 100.9, 3.5], np.float32)], opset=opset, to=number)
    check(op, [np.array([True, False])], opset=opset, to=number)
    check(op, [np.array([0, 1, 100], np.int64)], opset=opset, to=number)


@over_versions("CastLike")
def test_cast_like(op: str, opset: int) -> None:
    check(op, [np.array([0.0, 1.7], np.float32), np.array([1], np.int64)], opset=opset)


@over_versions("Where")
def test_where(op: str, opset: int) -> None:
    check(op, [np.array([[True], [False]]), floats(2, 3), floats(3, seed=1)], opset=opset)
    check(op, [np.array([True, False]), np.array([1, 2], np.int64), np.array(5, np.int64)], opset=opset)


@over_versions("IsNaN")
def test_is_nan(op: str, opset: int) -> None:
    check(op, [np.array([np.nan, 1.0, np.inf], np.float32)], opset=opset)


@over_versions("IsInf")
@pytest.mark.parametrize("options", [{}, {"detect_negative": 0}, {"detect_positive": 0}])
def test_is_inf(op: str, opset: int, options: dict[str, int]) -> None:
    check(op, [np.array([np.nan, -np.inf, np.inf, 1.0], np.float32)], opset=opset, **options)


@over_versions("Identity")
def test_identity(op: str, opset: int) -> None:
    check(op, [floats(2, 3)], opset=opset)


@over_versions("Dropout")
def test_dropout(op: str, opset: int) -> None:
    check(op, [floats(2, 3)], opset=opset)
    if opset >= 12:
        check(op, [floats(2, 3)], opset=opset, outputs=2)
        inputs: list[Array | None] = [floats(2, 3), np.array(0.3, np.float32), np.array(False)]
        check(op, inputs, opset=opset, constants=[1, 2])


def test_bfloat16_passes_through() -> None:
    check("Cast", [np.array([1.5, -2.25, 3e38], np.float32)], opset=13, to=TensorProto.BFLOAT16, symbolic=False)


@pytest.mark.parametrize(("mode", "expected"), [("up", [1, 2, 4]), ("down", [1, 1, 2]), ("nearest", [1, 1, 4])])
def test_cast_to_powers_of_two(mode: str, expected: list[float]) -> None:
    x = np.array([1, 1.4, 3], np.float32)
    attributes = {"to": int(TensorProto.FLOAT8E8M0), "round_mode": mode}
    y = run_jny(make_model("Cast", [x], opset=24, attributes=attributes), {"x0": x})["y0"]
    np.testing.assert_array_equal(y.astype(np.float32), np.array(expected, np.float32))
