"""Ops that work element by element, with edges among the values."""

from __future__ import annotations

from onnx import TensorProto

from ..case import FLOATS
from ..draw import INTEGERS, WIDE, Draw
from .registry import rule


@rule(
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor",
    "HardSwish", "IsNaN", "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sinh",
    "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "Identity", "Celu", "Elu", "HardSigmoid", "LeakyRelu", "Selu",
    "ThresholdedRelu", "Gelu", "Swish", "IsInf", "Shrink",
)  # fmt: skip
def unary(d: Draw) -> None:
    d.loose = d.op in ("Gelu", "HardSigmoid", "HardSwish")  # what is left where two numbers nearly cancel each other
    d.operand(d.shape(), d.edges() if d.op != "Shrink" else "normal")
    d.maybe("alpha", [0.0, 0.5, 1.0, 1.7, -0.3] if d.op not in ("Celu",) else [0.5, 1.0, 1.7])
    d.maybe("beta", [0.0, 0.25, 0.5, -0.5])
    d.maybe("gamma", [1.0, 1.5, -1.0])
    d.maybe("approximate", ["none", "tanh"])
    d.maybe("detect_negative", [0, 1])
    d.maybe("detect_positive", [0, 1])
    d.maybe("lambd", [0.0, 0.5, 1.0])
    d.maybe("bias", [0.0, 0.5])


@rule(
    "Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
    "Mul", "Or", "Sub", "Xor",
)  # fmt: skip
def binary(d: Draw) -> None:
    shape = d.shape()
    fill = d.edges()
    left, right = (shape, d.broadcastable(shape)) if d.chance(0.6) else (d.broadcastable(shape), shape)
    if d.tame:
        left, right = shape, d.broadcastable(shape)
    dtype = d.operand(left, fill)
    divides = d.op == "Div" and (d.tame or dtype not in FLOATS)
    d.operand(right, "positive" if divides else fill)


@rule("Pow")
def power(d: Draw) -> None:
    shape = d.shape()
    base = d.operand(shape, "special" if d.type(0) in FLOATS and d.chance(0.3) else "positive")
    whole = base not in FLOATS
    d.operand(d.broadcastable(shape), "positive" if whole or d.tame else d.pick(["positive", "unit", "special"]))


@rule("Mod")
def modulo(d: Draw) -> None:
    shape = d.shape()
    dtype = d.type(0)
    floats = dtype in FLOATS
    d.operand(shape, "normal" if floats else d.edges())
    d.operand(d.broadcastable(shape), d.pick(["positive", "normal"]) if floats else "positive")
    if floats or d.chance(0.4):
        d.attribute("fmod", 1)


@rule("BitShift")
def bit_shift(d: Draw) -> None:
    shape = d.shape()
    d.operand(shape, d.edges())
    d.operand(d.broadcastable(shape), "positive")
    d.attribute("direction", d.pick(["LEFT", "RIGHT"]))


@rule("PRelu")
def prelu(d: Draw) -> None:
    shape = d.shape()
    fill = d.pick(["normal", "extreme"])
    d.operand(shape, fill)
    d.operand(d.broadcastable(shape), fill)


@rule("Max", "Min", "Sum", "Mean")
def variadic(d: Draw) -> None:
    shape = d.shape()
    fill = d.edges()
    d.loose = d.op in ("Sum", "Mean")
    for index in range(d.integer(1, 4)):
        d.operand(shape if d.tame and not index else d.broadcastable(shape), fill)


@rule("Where")
def where(d: Draw) -> None:
    shape = d.any_shape()
    d.operand(d.broadcastable(shape), dtype="BOOL")
    fill = d.edges()
    d.operand(d.broadcastable(shape), fill)
    d.operand(shape, fill)


@rule("Clip")
def clip(d: Draw) -> None:
    # Before opset 11, no bound was a bound: the largest float. Infinities stay what they are here.
    fill = d.edges() if d.since >= 11 else "normal"
    dtype = d.operand(d.shape(), fill, allowed=WIDE - {"BOOL"})
    if d.since < 11:
        d.maybe("min", [-1.0, 0.0, 2.0])
        d.maybe("max", [1.0, 0.5, 6.0])
        return
    for choices in ([-2, -1, 0, 3], [4, 1, 0, 6]):
        if d.chance(0.7):
            value = d.pick(choices)
            value = abs(value) if dtype.startswith("UINT") else value + 0.5 if dtype in FLOATS and d.chance(0.5) else value
            d.listed([value], dtype=dtype, shape=[], constant=0.7)
        else:
            d.omit()


@rule("Cast")
def cast(d: Draw) -> None:
    source = d.type(0, WIDE | {"INT4", "UINT4", "FLOAT8E4M3FN", "FLOAT8E5M2"})
    targets = [name for name in sorted(WIDE) if f"tensor({_spelled(name)})" in d.schema.outputs[0].types]
    target = d.pick(targets)
    if d.has("saturate") and d.chance(0.2) and source in FLOATS:
        target = d.pick(["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"])
        d.maybe("saturate", [0, 1])
    # What does not fit into an integer is left open.
    to_integer = source.startswith(("FLOAT", "BFLOAT", "DOUBLE")) and target not in FLOATS | {"BOOL"}
    d.operand(d.shape(), "positive" if to_integer else d.edges(), dtype=source)
    d.attribute("to", getattr(TensorProto, target))


@rule("CastLike")
def cast_like(d: Draw) -> None:
    source = d.operand(d.shape(), "positive", allowed=WIDE)
    d.operand([d.integer(0, 2)], allowed=WIDE if source != "BOOL" else INTEGERS | {"FLOAT"})


def _spelled(name: str) -> str:
    return {"FLOAT": "float", "DOUBLE": "double"}.get(name, name.lower())


@rule("Dropout")
def dropout(d: Draw) -> None:
    d.operand(d.shape())
    if d.since < 12:
        d.maybe("ratio", [0.1, 0.5])
    elif d.chance(0.6):
        d.listed([d.pick([0.0, 0.3])], dtype=d.pick(sorted({"FLOAT", d.type(0)})), shape=[], constant=1.0)
        if d.chance(0.5):
            d.listed([0], dtype="BOOL", shape=[], constant=1.0)
    if d.since >= 12 and d.chance(0.3):  # before, it was not said what the mask is in inference
        d.results = [True, True]


@rule("BitCast")
def bit_cast(d: Draw) -> None:
    dtype = d.operand(d.shape(), allowed=INTEGERS | {"FLOAT", "DOUBLE", "FLOAT16"})
    widths = [{"INT8", "UINT8"}, {"INT16", "UINT16", "FLOAT16"}, {"INT32", "UINT32", "FLOAT"}, {"INT64", "UINT64", "DOUBLE"}]
    targets = next(group for group in widths if dtype in group) - {"FLOAT", "DOUBLE", "FLOAT16"}
    d.attribute("to", getattr(TensorProto, d.pick(sorted(targets))))
