"""Ops that work element by element."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from ..ir import Attribute, Value
from .node import OnnxNode
from .registry import lowers
from .wide import in_float32

UNARY = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan", "Atanh": "atanh",
    "BitwiseNot": "bitwise_not", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Exp": "exp", "Floor": "floor",
    "HardSwish": "hard_swish", "IsNaN": "is_nan", "Log": "log", "Mish": "mish", "Neg": "neg", "Not": "not",
    "Reciprocal": "reciprocal", "Relu": "relu", "Round": "round", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin",
    "Sinh": "sinh", "Softplus": "softplus", "Softsign": "softsign", "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh",
}  # fmt: skip
BINARY = {
    "Add": "add", "And": "and", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor",
    "Div": "div", "Equal": "equal", "Greater": "greater", "GreaterOrEqual": "greater_equal", "Less": "less",
    "LessOrEqual": "less_equal", "Mul": "mul", "Or": "or", "Pow": "pow", "PRelu": "prelu", "Sub": "sub", "Xor": "xor",
}  # fmt: skip
_FLOATS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE}
OLDEST = {"Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "PRelu", "Sub", "Xor"}
VARIADIC = {"Max": "max", "Min": "min", "Sum": "add"}
WITH_NUMBERS = {
    "Celu": ("celu", ("alpha",)),
    "Elu": ("elu", ("alpha",)),
    "HardSigmoid": ("hard_sigmoid", ("alpha", "beta")),
    "LeakyRelu": ("leaky_relu", ("alpha",)),
    "Selu": ("selu", ("alpha", "gamma")),
    "ThresholdedRelu": ("thresholded_relu", ("alpha",)),
}


@lowers(*UNARY)
def unary(node: OnnxNode) -> Value:
    return node.emit(UNARY[node.op], [node.operand(0)])


@lowers("Erf")
def erf(node: OnnxNode) -> Value:
    x = node.operand(0)
    dtype = node.dtype(x)
    if dtype in _FLOATS:
        return node.emit("erf", [x])
    return cast_to(node, node.emit("erf", [cast_to(node, x, TensorProto.FLOAT)]), dtype)


@lowers("Shrink")
def shrink(node: OnnxNode) -> Value:
    """x + bias below −lambd, x − bias above lambd, else 0; of integers in float64, as bias need not be whole."""
    x = node.operand(0)
    dtype = node.dtype(x)
    work = dtype if dtype in _FLOATS else int(TensorProto.DOUBLE)
    wide = x if work == dtype else cast_to(node, x, work)
    bias, limit = node.constant(node.number("bias"), work), node.number("lambd")
    above, below = node.emit("sub", [wide, bias]), node.emit("add", [wide, bias])
    is_above = node.emit("greater", [wide, node.constant(limit, work)])
    is_below = node.emit("less", [wide, node.constant(-limit, work)])
    y = node.emit("where", [is_below, below, node.emit("where", [is_above, above, node.constant(0, work)])])
    return y if work == dtype else cast_to(node, y, dtype)


# Before opset 7, those of the first opset broadcast in another way (old.py).
@lowers(*sorted(BINARY.keys() - OLDEST))
@lowers(*sorted(OLDEST), since=7)
def binary(node: OnnxNode) -> Value:
    return node.emit(BINARY[node.op], [node.operand(0), node.operand(1)])


@lowers(*VARIADIC)
def variadic(node: OnnxNode) -> Value:
    return _chain(node, node.operands, VARIADIC[node.op])


@lowers("Mean")
def mean(node: OnnxNode) -> Value:
    count = len(node.inputs)
    if count == 1:
        return _chain(node, node.operands, "add")

    def compute(operands: Sequence[Value]) -> Value:
        total = _chain(node, operands, "add")
        return node.emit("div", [total, node.constant(count, node.dtype(total))])

    return in_float32(node, node.operands, compute)


def _chain(node: OnnxNode, operands: Sequence[Value], op: str) -> Value:
    result, *rest = operands
    for value in rest:
        result = node.emit(op, [result, value])
    return result


@lowers(*WITH_NUMBERS)
def with_numbers(node: OnnxNode) -> Value:
    op, names = WITH_NUMBERS[node.op]
    return node.emit(op, [node.operand(0)], **{name: node.number(name) for name in names})


@lowers("Gelu")
def gelu(node: OnnxNode) -> Value:
    return node.emit("gelu", [node.operand(0)], approximate=node.text("approximate"))


@lowers("Swish")
def swish(node: OnnxNode) -> Value:
    x, alpha = node.operand(0), node.number("alpha")
    if alpha == 1:
        return node.emit("silu", [x])

    def compute(operands: Sequence[Value]) -> Value:
        # A rounding error of the scaled operand stands in an exponent.
        scaled = node.emit("mul", [operands[0], node.constant(alpha, node.dtype(operands[0]))])
        return node.emit("mul", [operands[0], node.emit("sigmoid", [scaled])])

    return in_float32(node, [x], compute)


@lowers("IsInf")
def is_inf(node: OnnxNode) -> Value:
    return node.emit(
        "is_inf", [node.operand(0)], negative=node.integer("detect_negative"), positive=node.integer("detect_positive")
    )


@lowers("Mod")
def mod(node: OnnxNode) -> Value:
    return node.emit("mod", [node.operand(0), node.operand(1)], fmod=node.integer("fmod"))


@lowers("BitShift")
def bit_shift(node: OnnxNode) -> Value:
    return node.emit("bit_shift", [node.operand(0), node.operand(1)], direction=node.text("direction").lower())


@lowers("Where")
def where(node: OnnxNode) -> Value:
    return node.emit("where", [node.operand(0), node.operand(1), node.operand(2)])


@lowers("Clip")
def clip_with_attributes(node: OnnxNode) -> Value:
    x = node.operand(0)
    # The schema's defaults are the largest floats, which means: no bound.
    open_ended = float(np.finfo(np.float32).max)
    bounds = [node.number(name) if node.has(name) else open_ended for name in ("min", "max")]
    operands = [None if abs(bound) >= open_ended else node.constant(bound, node.dtype(x)) for bound in bounds]
    return node.emit("clip", [x, *operands])


@lowers("Clip", since=11)
def clip(node: OnnxNode) -> Value:
    return node.emit("clip", [node.operand(0), node.input(1), node.input(2)])


@lowers("Cast", since=6)
def cast(node: OnnxNode) -> Value:
    return cast_to(node, node.operand(0), node.integer("to"))


@lowers("CastLike")
def cast_like(node: OnnxNode) -> Value:
    return cast_to(node, node.operand(0), node.dtype(node.operand(1)))


def cast_to(node: OnnxNode, x: Value, to: int) -> Value:
    """A cast; `saturate` matters to 8-bit floats alone."""
    if to == TensorProto.STRING:
        raise node.unsupported("casts to strings have no place in the runtime")
    attributes: dict[str, Attribute] = {"to": to, "saturate": node.integer("saturate") if node.has("saturate") else 1}
    if node.has("round_mode") and to == getattr(TensorProto, "FLOAT8E8M0", -1):
        attributes["rounding"] = node.text("round_mode")
    return node.emit("cast", [x], **attributes)


_UNSIGNED = {TensorProto.INT4: TensorProto.UINT4, getattr(TensorProto, "INT2", -1): getattr(TensorProto, "UINT2", -1)}
"""Memory holds narrow integers a byte each, signed ones with their sign drawn out."""


@lowers("BitCast")
def bit_cast(node: OnnxNode) -> Value:
    x, to = node.operand(0), node.integer("to")
    dtype = node.dtype(x)
    if TensorProto.STRING in (to, dtype):
        raise node.invalid("strings have no bits that could be read as something else")
    if _width(dtype) != _width(to):
        raise node.invalid(f"elements of {_width(dtype)} bits cannot be read as elements of {_width(to)} bits")
    if dtype in _UNSIGNED:
        dtype = _UNSIGNED[dtype]
        x = node.emit("cast", [x], to=int(dtype), saturate=1)
    plain = _UNSIGNED.get(to, to)
    if plain != dtype:
        x = node.emit("bit_cast", [x], to=int(plain))
    return node.emit("cast", [x], to=to, saturate=1) if plain != to else x


def _width(dtype: int) -> int:
    """Bits of an element."""
    name = TensorProto.DataType.Name(dtype)
    if name in ("BOOL", "FLOAT", "DOUBLE"):
        return {"BOOL": 8, "FLOAT": 32, "DOUBLE": 64}[name]
    return int(re.findall(r"\d+", name)[0]) if name.startswith(("INT", "UINT", "FLOAT", "BFLOAT", "COMPLEX")) else 0


@lowers("Identity")
def identity(node: OnnxNode) -> Value:
    return node.operand(0)
