"""Draws whole cases: the op, its opset, and what the op's rule says."""

from __future__ import annotations

from functools import cache
from random import Random

from onnx import defs

from .case import Case
from .chains import chain
from .draw import NEWEST, OLDEST, Draw, Reject
from .rules import RULES

CHAINS = 0.25
"""Part of the cases that are chains."""


@cache
def opsets(op: str) -> list[list[int]]:
    """The opsets in which the op may be used, one list for each version of its definition."""
    since: dict[int, list[int]] = {}
    for opset in range(OLDEST, NEWEST + 1):
        try:
            schema = defs.get_schema(op, opset)
        except defs.SchemaError:
            continue
        if not schema.deprecated:
            since.setdefault(schema.since_version, []).append(opset)
    return list(since.values())


def draw_case(random: Random, ops: list[str] | None = None) -> Case:
    """One case of an op or of a chain. Raises Reject if none is found in many tries."""
    for _ in range(60):
        try:
            if ops is None and random.random() < CHAINS:
                return chain(random, list(range(OLDEST, NEWEST + 1)))
            op = random.choice(ops or sorted(RULES))
            if not opsets(op):
                continue
            draw = Draw(random, op, random.choice(random.choice(opsets(op))))
            RULES[op](draw)
            return draw.case()
        except Reject:
            continue
    raise Reject("nothing could be drawn")


def case_of(seed: str, ops: list[str] | None = None) -> Case:
    """The case of a seed."""
    return draw_case(Random(seed), ops)
