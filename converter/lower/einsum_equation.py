"""Reads Einsum's equation: the label of every axis of the operands and of the result."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .node import OnnxNode

_TERM = re.compile(r"([A-Za-z]*)(\.\.\.)?([A-Za-z]*)")


@dataclass(frozen=True)
class Equation:
    """Labels are letters; the axes under an ellipsis have the labels "...0", "...1", counted from the last, as they broadcast."""

    operands: list[list[str]]
    output: list[str]


def parse(node: OnnxNode, text: str, ranks: Sequence[int]) -> Equation:
    """The equation for operands of these ranks."""
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise node.invalid(f"the equation '{text}' has {len(terms)} terms for {len(ranks)} operands")
    operands = [_labels(node, text, term, rank) for term, rank in zip(terms, ranks, strict=True)]
    counts = Counter(label for labels in operands for label in labels)
    ellipsis = sorted((label for label in counts if len(label) > 1), key=_place, reverse=True)
    if not arrow:
        once = sorted(label for label, count in counts.items() if count == 1 and len(label) == 1)
        return Equation(operands, [*ellipsis, *once])
    before, dots, after = _parts(node, text, right)
    output = [*before, *(ellipsis if dots else []), *after]
    for label, count in Counter(output).items():
        if count > 1 or label not in counts:
            what = "occurs twice in its result" if count > 1 else "of its result occurs in no operand"
            raise node.invalid(f"the equation '{text}' cannot be computed: the label '{label}' {what}")
    return Equation(operands, output)


def _place(label: str) -> int:
    return int(label[3:])


def _parts(node: OnnxNode, text: str, term: str) -> tuple[str, str | None, str]:
    match = _TERM.fullmatch(term)
    if match is None:
        raise node.invalid(f"the equation '{text}' cannot be read at '{term}'", "terms are letters and at most one ellipsis")
    return match[1], match[2], match[3]


def _labels(node: OnnxNode, text: str, term: str, rank: int) -> list[str]:
    before, dots, after = _parts(node, text, term)
    hidden = rank - len(before) - len(after)
    if hidden < 0 or (hidden > 0 and not dots):
        raise node.invalid(f"the term '{term}' of the equation '{text}' does not fit an operand of rank {rank}")
    return [*before, *(f"...{place}" for place in reversed(range(hidden))), *after]
