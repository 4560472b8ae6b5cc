"""Elementwise float32 ops, alone and in the chains that Jitney computes as one loop."""

from __future__ import annotations

from single_ops.case import Case, floats, node, number, positive, size_name

_IMAGE = (1, 64, 56, 56)
_SIZE = size_name(_IMAGE[1:])
_HIDDEN = (128, 768)

_ACTIVATIONS = (
    *("Relu", "LeakyRelu", "ThresholdedRelu", "Sigmoid", "Tanh", "HardSigmoid", "HardSwish"),
    *("Elu", "Selu", "Celu", "Gelu", "Softplus", "Mish", "Softsign"),
)
_OF_ALL = ("Exp", "Erf", "Sin", "Abs", "Neg", "Floor", "Ceil", "Round", "Sign", "Reciprocal")
_OF_POSITIVE = ("Log", "Sqrt")


def _unary(op: str) -> Case:
    x = positive(*_IMAGE) if op in _OF_POSITIVE else floats(*_IMAGE)
    return Case(f"{op.lower()} {_SIZE}", [node(op, "x")], {"x": x})


def _binary(op: str) -> Case:
    return Case(f"{op.lower()} {_SIZE}", [node(op, "x, z")], {"x": floats(*_IMAGE), "z": floats(*_IMAGE)})


CASES = [
    *map(_unary, (*_ACTIVATIONS, *_OF_ALL, *_OF_POSITIVE)),
    *map(_binary, ("Add", "Sub", "Mul", "Div", "Max", "Min")),
    Case("add to each channel", [node("Add", "x, z")], {"x": floats(*_IMAGE)}, {"z": floats(64, 1, 1)}),
    Case("add to each column", [node("Add", "x, z")], {"x": floats(*_HIDDEN)}, {"z": floats(768)}),
    Case("add a column and a row 512x512", [node("Add", "x, z")], {"x": floats(512, 1), "z": floats(1, 512)}),
    Case("add one number", [node("Add", "x, z")], {"x": floats(*_IMAGE)}, {"z": number(0.7)}),
    Case("square 128x768", [node("Pow", "x, z")], {"x": floats(*_HIDDEN)}, {"z": number(2)}),
    Case("cube 128x768", [node("Pow", "x, z")], {"x": floats(*_HIDDEN)}, {"z": number(3)}),
    Case("power 1.5 of 128x768", [node("Pow", "x, z")], {"x": positive(*_HIDDEN)}, {"z": number(1.5)}),
    Case("clip 64x56x56", [node("Clip", "x, a, b")], {"x": floats(*_IMAGE)}, {"a": number(0), "b": number(6)}),
    Case(
        "chain: gelu spelled out 128x1536",
        [
            node("Div", "x, root", "a"),
            node("Erf", "a", "b"),
            node("Add", "b, one", "c"),
            node("Mul", "x, c", "d"),
            node("Mul", "d, half"),
        ],
        {"x": floats(128, 1536)},
        {"root": number(2**0.5), "one": number(1), "half": number(0.5)},
    ),
    Case(
        "chain: like gelu with other numbers 128x1536",
        [
            node("Div", "x, k", "a"),
            node("Erf", "a", "b"),
            node("Add", "b, l", "c"),
            node("Mul", "x, c", "d"),
            node("Mul", "d, m"),
        ],
        {"x": floats(128, 1536)},
        {"k": number(1.5), "l": number(1.1), "m": number(0.4)},
    ),
    Case(
        "chain: scale, shift, relu, add 64x112x112",
        [node("Mul", "x, s", "a"), node("Add", "a, t", "b"), node("Relu", "b", "c"), node("Add", "c, z")],
        {"x": floats(1, 64, 112, 112), "z": floats(1, 64, 112, 112)},
        {"s": floats(1, 64, 1, 1), "t": floats(1, 64, 1, 1)},
    ),
    Case(
        "chain: normalise a picture 3x640x640",
        [node("Div", "x, k", "a"), node("Sub", "a, mean", "b"), node("Div", "b, deviation")],
        {"x": floats(1, 3, 640, 640)},
        {"k": number(255), "mean": floats(1, 3, 1, 1), "deviation": positive(1, 3, 1, 1)},
    ),
    Case(
        "chain: gate and add 96x80x80",
        [node("Mul", "x, gate", "a"), node("Add", "a, z")],
        {"x": floats(1, 96, 80, 80), "gate": floats(1, 96, 1, 1), "z": floats(1, 96, 80, 80)},
    ),
    Case(
        "chain: magnitude 257x400",
        [node("Mul", "x, x", "a"), node("Mul", "z, z", "b"), node("Add", "a, b", "c"), node("Sqrt", "c")],
        {"x": floats(1, 257, 400), "z": floats(1, 257, 400)},
    ),
    Case(
        "chain: x sigmoid(1.7 x) 64x56x56",
        [node("Mul", "x, k", "a"), node("Sigmoid", "a", "b"), node("Mul", "x, b")],
        {"x": floats(*_IMAGE)},
        {"k": number(1.7)},
    ),
    Case(
        "chain: replace NaN 64x56x56",
        [node("IsNaN", "x", "a"), node("Where", "a, c, x")],
        {"x": floats(*_IMAGE)},
        {"c": number(0)},
    ),
    Case(
        "chain: choose by sign 512x512",
        [node("Less", "x, c", "a"), node("Where", "a, x, z")],
        {"x": floats(512, 512), "z": floats(512, 512)},
        {"c": number(0)},
    ),
]
