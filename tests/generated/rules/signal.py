"""Transforms and windows of signals."""

from __future__ import annotations

from ..draw import Draw
from .registry import rule


@rule("DFT")
def dft(d: Draw) -> None:
    d.loose = True
    shape = [d.integer(1, 3), d.integer(1, 9), d.integer(1, 4)][: d.integer(2, 3)]
    onesided = d.integer(0, 1)
    inverse = d.integer(0, 1)
    parts = 2 if inverse or (not onesided and d.chance(0.5)) else 1
    d.need(not (inverse and onesided))
    d.operand([*shape, parts], allowed={"FLOAT", "DOUBLE"})
    if d.chance(0.4):
        d.listed([d.integer(1, 12)], shape=[])
    elif d.since >= 20:
        d.omit()
    if d.since < 20:
        d.maybe("axis", range(1, len(shape)))
    else:
        d.listed([d.integer(0, len(shape) - 1)], shape=[], constant=0.8)
    d.attribute("onesided", onesided)
    d.attribute("inverse", inverse)


@rule("STFT")
def stft(d: Draw) -> None:
    d.loose = True
    frame = d.pick([4, 5, 8])
    length = frame + d.integer(0, 12)
    dtype = d.operand([d.integer(1, 2), length, 1], allowed={"FLOAT", "DOUBLE"})
    d.listed([d.integer(1, 4)], shape=[], constant=1.0)
    if d.chance(0.6):
        d.operand([frame], "positive", dtype=dtype)
        d.listed([frame], shape=[], constant=1.0)
    else:
        d.omit()
        d.listed([frame], shape=[], constant=1.0)
    d.maybe("onesided", [0, 1])


@rule("BlackmanWindow", "HammingWindow", "HannWindow")
def window(d: Draw) -> None:
    d.loose = True
    d.listed([d.integer(2, 20)], dtype=d.index_dtype(), shape=[])
    d.maybe("periodic", [0, 1])
    d.maybe("output_datatype", [1, 11, 10])


@rule("MelWeightMatrix")
def mel(d: Draw) -> None:
    d.loose = True
    for value, dtype in (
        (d.integer(2, 8), "INT64"),
        (d.pick([16, 32, 64]), "INT64"),
        (8192, "INT64"),
        (0.0, "FLOAT"),
        (4096.0, "FLOAT"),
    ):
        d.listed([value], dtype=dtype, shape=[])
