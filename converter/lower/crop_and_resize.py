"""CropAndResize: boxes cut out of pictures and sampled anew, as reads of four neighbours and what lies between them."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Value
from .attention_parts import INT64
from .foreign import MICROSOFT
from .integers import FLOAT, cast
from .movement import channels_first, channels_last
from .node import OnnxNode
from .registry import lowers
from .sizes import scalar, size_of, vector


@dataclass(frozen=True)
class _Line:
    """Where samples lie along one axis, for each box: [boxes, samples] float32, within the picture."""

    places: Value
    inside: Value
    """False for what lay outside."""


@lowers("CropAndResize", domain=MICROSOFT)
def crop_and_resize(node: OnnxNode) -> Value:
    x, boxes, batch, crop = node.operands
    mode = node.text("mode")
    if mode not in ("bilinear", "nearest"):
        raise node.invalid(f"mode is '{mode}', which is not among bilinear and nearest")
    pixels = channels_last(node, x)
    ends = [node.emit("gather", [boxes, node.int64s(index)], axis=1) for index in range(4)]
    counts = [node.emit("gather", [cast(node, crop, INT64), node.int64s(index)], axis=0) for index in range(2)]
    rows = _line(node, ends[0], ends[2], x, 2, counts[0])
    columns = _line(node, ends[1], ends[3], x, 3, counts[1])
    y_places, x_places = _spread(node, rows.places, 2), _spread(node, columns.places, 1)
    if mode == "nearest":
        picked = [_nearest(node, place) for place in (y_places, x_places)]
        y = _read(node, pixels, batch, picked[0], picked[1])
    else:
        low, high = ([node.emit(op, [place]) for place in (y_places, x_places)] for op in ("floor", "ceil"))
        ahead, down = (node.emit("sub", [place, start]) for place, start in zip((x_places, y_places), low[::-1], strict=True))
        corners = [[_read(node, pixels, batch, y, x) for x in (low[1], high[1])] for y in (low[0], high[0])]
        top, bottom = (_between(node, left, right, ahead) for left, right in corners)
        y = _between(node, top, bottom, down)
    inside = node.emit("and", [_spread(node, rows.inside, 2), _spread(node, columns.inside, 1)])
    outside = cast(node, node.constant(node.number("extrapolation_value"), FLOAT), node.dtype(x))
    return channels_first(node, node.emit("where", [_spread(node, inside, 3), cast(node, y, node.dtype(x)), outside]))


def _line(node: OnnxNode, start: Value, end: Value, x: Value, axis: int, count: Value) -> _Line:
    """`count` places from one end of each box to the other, or its middle if there is to be one."""
    one = node.int64s(1)
    last = cast(node, node.emit("sub", [scalar(node, size_of(node, x, axis)), one]), FLOAT)
    steps = node.emit("max", [node.emit("sub", [count, one]), one])
    first = node.emit("mul", [_spread(node, start, 1), last])
    width = node.emit("mul", [_spread(node, node.emit("sub", [end, start]), 1), last])
    step = node.emit("div", [width, cast(node, steps, FLOAT)])
    numbers = cast(node, node.emit("range", [node.int64s(0), count, one]), FLOAT)
    several = node.emit("add", [first, node.emit("mul", [numbers, step])])
    middle = node.emit("mul", [node.emit("add", [start, end]), node.constant(0.5, FLOAT)])
    middle = _spread(node, node.emit("mul", [middle, last]), 1)
    places = node.emit("where", [node.emit("greater", [count, one]), several, middle])
    zero = node.constant(0.0, FLOAT)
    bounds = [node.emit("greater_equal", [places, zero]), node.emit("less_equal", [places, last])]
    return _Line(node.emit("clip", [places, zero, last]), node.emit("and", bounds))


def _nearest(node: OnnxNode, places: Value) -> Value:
    """The nearest whole numbers; halves go up."""
    low = node.emit("floor", [places])
    up = node.emit("greater_equal", [node.emit("sub", [places, low]), node.constant(0.5, FLOAT)])
    return node.emit("add", [low, cast(node, up, FLOAT)])


def _spread(node: OnnxNode, x: Value, axis: int) -> Value:
    return node.emit("unsqueeze", [x, node.int64s([axis])])


def _between(node: OnnxNode, a: Value, b: Value, weight: Value) -> Value:
    a = cast(node, a, FLOAT)
    return node.emit("add", [a, node.emit("mul", [node.emit("sub", [cast(node, b, FLOAT), a]), _spread(node, weight, 3)])])


def _read(node: OnnxNode, pixels: Value, batch: Value, row: Value, column: Value) -> Value:
    """The pixels at whole places: [boxes, rows, columns, channels]."""
    items = node.emit("unsqueeze", [cast(node, batch, INT64), node.int64s([1, 2])])
    parts = [items, cast(node, row, INT64), cast(node, column, INT64)]
    shape = vector(node, [size_of(node, row, 0), size_of(node, row, 1), size_of(node, column, 2)])
    wide = [_spread(node, node.emit("expand", [part, shape]), 3) for part in parts]
    return node.emit("gather_nd", [pixels, node.emit("concat", wide, axis=3)], batch_dims=0)
