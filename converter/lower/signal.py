"""Signal processing: Fourier transforms of whole signals and of windows that slide over them, and the mel scale."""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto

from ..ir import Value
from .elementwise import cast_to
from .node import OnnxNode
from .registry import lowers

_DOUBLE = int(TensorProto.DOUBLE)
_INT64 = int(TensorProto.INT64)


@lowers("DFT", since=17)
def dft_along_attribute(node: OnnxNode) -> Value:
    return _dft(node, node.operand(0), node.input(1), node.int64s(node.integer("axis")))


@lowers("DFT", since=20)
def dft(node: OnnxNode) -> Value:
    return _dft(node, node.operand(0), node.input(1), node.input(2))


def _dft(node: OnnxNode, x: Value, length: Value | None, axis: Value | None) -> Value:
    inverse = node.integer("inverse") if node.has("inverse") else 0
    return node.emit("dft", [x, length, axis], inverse=inverse, onesided=node.integer("onesided"))


@lowers("STFT")
def stft(node: OnnxNode) -> Value:
    """Gathers the frames, weighs them with the window, and transforms each."""
    signal, window, given = node.operand(0), node.input(2), node.input(3)
    step = _scalar(node, node.operand(1))
    samples = node.emit("squeeze", [node.emit("shape", [signal], start=1, end=2)])
    if given is not None:
        length = _scalar(node, given)
    elif window is not None:
        length = node.emit("squeeze", [node.emit("shape", [window], start=0, end=1)])
    else:
        length = samples
    zero, one = node.int64s(0), node.int64s(1)
    # The quotient drops its fraction, so a signal a little shorter than a frame needs the step added first.
    room = node.emit("max", [node.emit("add", [node.emit("sub", [samples, length]), step]), zero])
    starts = node.emit("mul", [node.emit("range", [zero, node.emit("div", [room, step]), one]), step])
    inside = node.emit("range", [zero, length, one])
    places = node.emit("add", [node.emit("unsqueeze", [starts, node.int64s([1])]), inside])
    frames = node.emit("gather", [signal, places], axis=1)
    if window is not None:
        frames = node.emit("mul", [frames, node.emit("unsqueeze", [window, node.int64s([1])])])
    return _dft(node, frames, None, node.int64s(2))


def _scalar(node: OnnxNode, value: Value) -> Value:
    """An int64 of rank 0."""
    wide = value if node.dtype(value) == _INT64 else node.emit("cast", [value], to=_INT64, saturate=1)
    return node.emit("reshape", [wide, node.int64s([])], allow_zero=0)


@lowers("MelWeightMatrix")
def mel_weight_matrix(node: OnnxNode) -> Value:
    """Triangles over the bins of a spectrum, whose corners are evenly spaced on the mel scale."""
    bands, length = _scalar(node, node.operand(0)), _scalar(node, node.operand(1))
    rate, low, high = (node.emit("cast", [node.operand(index)], to=_DOUBLE, saturate=1) for index in (2, 3, 4))

    def number(value: float) -> Value:
        return node.constant(value, _DOUBLE)

    def mel(hertz: Value) -> Value:
        logarithm = node.emit("log", [node.emit("add", [node.emit("div", [hertz, number(700)]), number(1)])])
        return node.emit("mul", [logarithm, number(2595 / math.log(10))])

    two = node.emit("add", [bands, node.int64s(2)])
    corners = node.emit("cast", [node.emit("range", [node.int64s(0), two, node.int64s(1)])], to=_DOUBLE, saturate=1)
    first, last = mel(low), mel(high)
    step = node.emit("div", [node.emit("sub", [last, first]), node.emit("cast", [two], to=_DOUBLE, saturate=1)])
    mels = node.emit("add", [node.emit("mul", [corners, step]), first])
    power = node.emit("exp", [node.emit("mul", [mels, number(math.log(10) / 2595)])])
    hertz = node.emit("mul", [node.emit("sub", [power, number(1)]), number(700)])
    wide = node.emit("cast", [node.emit("add", [length, node.int64s(1)])], to=_DOUBLE, saturate=1)
    bins = node.emit("floor", [node.emit("div", [node.emit("mul", [wide, hertz]), rate])])

    def corner(first: int, last: int) -> Value:
        return node.emit("slice", [bins, node.int64s([first]), node.int64s([last]), node.int64s([0])])

    left, peak, right = corner(0, -2), corner(1, -1), corner(2, np.iinfo(np.int64).max)
    half = node.emit("add", [node.emit("div", [length, node.int64s(2)]), node.int64s(1)])
    rows = node.emit("cast", [node.emit("range", [node.int64s(0), half, node.int64s(1)])], to=_DOUBLE, saturate=1)
    at = node.emit("unsqueeze", [rows, node.int64s([1])])

    def slope(part: Value, whole: Value) -> Value:
        # Where the corners coincide there is no slope, and the peak stands alone.
        divided = node.emit("div", [part, node.emit("max", [whole, number(1)])])
        return node.emit("where", [node.emit("equal", [whole, number(0)]), number(1), divided])

    rising = slope(node.emit("sub", [at, left]), node.emit("sub", [peak, left]))
    falling = slope(node.emit("sub", [right, at]), node.emit("sub", [right, peak]))

    def both(a: Value, b: Value) -> Value:
        return node.emit("and", [a, b])

    up = both(node.emit("greater_equal", [at, left]), node.emit("less_equal", [at, peak]))
    down = both(node.emit("greater_equal", [at, peak]), node.emit("less", [at, right]))
    weights = node.emit("where", [down, falling, node.emit("where", [up, rising, number(0)])])
    return cast_to(node, weights, node.integer("output_datatype"))
