"""RNN, GRU and LSTM."""

from __future__ import annotations

from ..draw import Draw
from .registry import rule

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@rule("RNN", "GRU", "LSTM")
def recurrent(d: Draw) -> None:
    d.loose = True
    length, batch, inputs, hidden = d.integer(1, 5), d.integer(1, 3), d.integer(1, 4), d.integer(1, 4)
    direction = d.pick(["forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    layout = d.integer(0, 1) if d.has("layout") and d.chance(0.3) else 0
    gates = GATES[d.op]
    dtype = d.type(0, {"FLOAT", "FLOAT16", "DOUBLE"})
    d.operand([batch, length, inputs] if layout else [length, batch, inputs], dtype=dtype)
    d.operand([ways, gates * hidden, inputs], "unit", dtype=dtype)
    d.operand([ways, gates * hidden, hidden], "unit", dtype=dtype)
    state = [batch, ways, hidden] if layout else [ways, batch, hidden]
    optional = [[ways, 2 * gates * hidden], None, state] + ([state, [ways, 3 * hidden]] if d.op == "LSTM" else [])
    for shape in optional:
        if d.chance(0.4):
            d.omit()
        elif shape is None:
            d.listed([d.integer(1, length) for _ in range(batch)], dtype="INT32")
        else:
            d.operand(shape, "unit", dtype=dtype)
    d.attribute("hidden_size", hidden)
    d.attribute("direction", direction)
    if layout:
        d.attribute("layout", 1)
    if d.op == "GRU":
        d.maybe("linear_before_reset", [0, 1])
    if d.op == "LSTM":
        d.maybe("input_forget", [0, 1], 0.2)
    d.maybe("clip", [0.5, 3.0], 0.2)
    d.results = [True, True, True][: 3 if d.op == "LSTM" else 2]
