"""The plain forms of the quantised ops."""

from __future__ import annotations

from ..draw import Draw
from .registry import rule

EIGHT_BITS = ["INT8", "UINT8"]


def _scales(d: Draw, count: int | None, dtype: str = "FLOAT") -> None:
    shape = [] if count is None else [count]
    d.listed([d.pick([0.02, 0.1, 0.5, 1.0]) for _ in range(count if count is not None else 1)], dtype=dtype, shape=shape)


def _zero_points(d: Draw, count: int | None, dtype: str) -> None:
    low, high = {"INT8": (-20, 20), "UINT8": (100, 150), "INT4": (-3, 3), "UINT4": (0, 9)}.get(dtype, (0, 9))
    shape = [] if count is None else [count]
    d.listed([d.integer(low, high) for _ in range(count if count is not None else 1)], dtype=dtype, shape=shape)


@rule("QuantizeLinear", "DequantizeLinear")
def quantise(d: Draw) -> None:
    shape = d.shape(1)
    axis = d.axis(len(shape)) if d.since >= 13 and d.chance(0.5) else None
    count = None if axis is None else shape[axis]
    forward = d.op == "QuantizeLinear"
    stored = d.pick(EIGHT_BITS + (["INT4", "UINT4", "INT16", "UINT16"] if d.since >= 21 else []))
    wide = d.pick(["FLOAT", "FLOAT16"]) if d.since >= 19 else "FLOAT"
    d.operand(shape, "normal" if forward else "special", dtype=wide if forward else stored)
    _scales(d, count, wide)
    if stored != "UINT8" or d.chance(0.7) or not forward:
        _zero_points(d, count, stored)
    if axis is not None:
        d.attribute("axis", axis)


@rule("DynamicQuantizeLinear")
def dynamic_quantise(d: Draw) -> None:
    shape = d.shape(1)
    d.need(0 not in shape)
    d.operand(shape, d.pick(["normal", "positive"]))
    d.results = [True, True, True]


@rule("MatMulInteger", "QLinearMatMul")
def quantised_matmul(d: Draw) -> None:
    m, k, n = d.integer(1, 5), d.integer(1, 6), d.integer(1, 5)
    batch = [d.integer(1, 3)] if d.chance(0.3) else []
    left, right = d.pick(EIGHT_BITS), d.pick(EIGHT_BITS)
    whole = d.op == "QLinearMatMul"
    d.operand([*batch, m, k], "special", dtype=left)
    if whole:
        _scales(d, None)
        _zero_points(d, None, left)
    d.operand([*batch, k, n], "special", dtype=right)
    if whole:
        _scales(d, None)
        _zero_points(d, None, right)
        _scales(d, None)
        _zero_points(d, None, left)
    elif d.chance(0.7):
        _zero_points(d, None, left)
        if d.chance(0.7):
            _zero_points(d, None if d.chance(0.5) else n, right)


@rule("ConvInteger", "QLinearConv")
def quantised_conv(d: Draw) -> None:
    n, group, per, size, kernel = d.integer(1, 2), d.integer(1, 2), d.integer(1, 3), d.integer(3, 7), d.integer(1, 3)
    outputs = group * d.integer(1, 3)
    left, right = d.pick(EIGHT_BITS), d.pick(EIGHT_BITS)
    whole = d.op == "QLinearConv"
    d.operand([n, group * per, size, size], "special", dtype=left if whole else "UINT8")
    if whole:
        _scales(d, None)
        _zero_points(d, None, left)
    weights = "special" if not whole else "normal"
    d.operand([outputs, per, kernel, kernel], weights, dtype=right if whole else "UINT8", constant=True)
    if whole:
        channels = outputs if d.chance(0.5) else None
        _scales(d, channels)
        _zero_points(d, channels, right)
        _scales(d, None)
        _zero_points(d, None, left)
        if d.chance(0.5):
            d.operand([outputs], dtype="INT32", constant=True)
    elif d.chance(0.7):
        _zero_points(d, None, "UINT8")
        if d.chance(0.5):
            _zero_points(d, None, "UINT8")
    if group > 1:
        d.attribute("group", group)
    if d.chance(0.5):
        d.attribute("pads", [d.integer(0, 1) for _ in range(4)])
    if d.chance(0.5):
        d.attribute("strides", [d.integer(1, 2) for _ in range(2)])
