"""Stored counts, and what may be said when new ones differ from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

TOLERANCE = 0.03
"""Counts may differ by so much: other builds of the C library, other addresses."""

Counts = dict[str, dict[str, float]]
"""By case, then by what was counted."""

_FOLDER = Path(__file__).with_name("baseline")


@dataclass(frozen=True)
class Measurement:
    """What one gate found."""

    gate: str
    tools: dict[str, str]
    """What the counts depend on beside the code: the compiler above all."""
    counts: Counts
    notes: dict[str, str] = field(default_factory=dict)
    """By case: which kernels ran. To read, not to compare."""


def store(found: Measurement) -> None:
    """Makes it the baseline."""
    data = {
        "tools": found.tools,
        "cases": {
            name: ({"kernels": found.notes[name]} if name in found.notes else {}) | counts
            for name, counts in found.counts.items()
        },
    }
    _path(found.gate).write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def compare(found: Measurement) -> list[str]:
    """What is wrong with it, one line each; nothing if all is as it was, within the tolerance."""
    path = _path(found.gate)
    if not path.is_file():
        return [f"{found.gate}: there is no baseline yet"]
    data = json.loads(path.read_text(encoding="utf-8"))
    if data["tools"] != found.tools:
        return [f"{found.gate}: the baseline was made with {_words(data['tools'])}, this is {_words(found.tools)}"]
    faults: list[str] = []
    for name, counts in found.counts.items():
        before = data["cases"].get(name)
        faults += [f"{found.gate}: {name} is new"] if before is None else _differences(found.gate, name, before, counts)
    return faults + [f"{found.gate}: {name} is gone" for name in data["cases"] if name not in found.counts]


def _differences(gate: str, case: str, before: Mapping[str, float], now: Mapping[str, float]) -> list[str]:
    lines = []
    for what, count in now.items():
        old = before.get(what)
        if old is None:
            lines.append(f"{gate}: {case} has no stored {what}")
        elif abs(count - old) > TOLERANCE * old:
            change = f"{100 * (count / old - 1):+.1f}%" if old else "from nothing"
            verdict = "REGRESSION" if count > old else "improvement, to be stored"
            lines.append(f"{gate}: {case}: {what.replace('_', ' ')} {_number(old)} → {_number(count)} ({change}): {verdict}")
    return lines


def _number(count: float) -> str:
    return f"{count:,.0f}" if count >= 1000 else f"{count:.4g}"


def _words(tools: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in tools.items())


def _path(gate: str) -> Path:
    return _FOLDER / f"{gate}.json"
