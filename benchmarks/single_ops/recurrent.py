"""Recurrent layers: sequences of one or several, one or both directions."""

from __future__ import annotations

from typing import Any

from single_ops.case import Case, floats, node

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def _layer(op: str, length: int, batch: int, inputs: int, hidden: int, *, both: bool = False) -> Case:
    directions, rows = 2 if both else 1, _GATES[op] * hidden
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": "bidirectional" if both else "forward"}
    if op == "GRU":
        attributes["linear_before_reset"] = 1  # as PyTorch exports it
    weights = {
        "w": floats(directions, rows, inputs, scale=0.1),
        "r": floats(directions, rows, hidden, scale=0.1),
        "b": floats(directions, 2 * rows, scale=0.1),
    }
    name = f"{op.lower()} {length} steps, batch {batch}, {inputs} to {hidden}" + (", both directions" if both else "")
    return Case(name, [node(op, "x, w, r, b", **attributes)], {"x": floats(length, batch, inputs)}, weights)


CASES = [
    _layer("LSTM", 50, 1, 128, 128),
    _layer("LSTM", 50, 8, 128, 128),
    _layer("LSTM", 40, 1, 96, 48, both=True),
    _layer("LSTM", 1, 1, 256, 256),
    _layer("GRU", 50, 1, 128, 128),
    _layer("GRU", 50, 8, 128, 128),
    _layer("GRU", 1, 1, 256, 256),
    _layer("RNN", 50, 1, 128, 128),
]
