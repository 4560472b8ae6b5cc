"""All cases, by family: `elementwise/exp 64x56x56`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from single_ops import (
    convolutions,
    elementwise,
    movement,
    pictures,
    products,
    recurrent,
    reductions,
    transposed_convolutions,
    typed,
)
from single_ops.case import Case

FAMILIES: Mapping[str, Sequence[Case]] = {
    "elementwise": elementwise.CASES,
    "typed": typed.CASES,
    "movement": movement.CASES,
    "pictures": pictures.CASES,
    "reductions": reductions.CASES,
    "conv": convolutions.CASES,
    "conv_transpose": transposed_convolutions.CASES,
    "recurrent": recurrent.CASES,
    "products": products.CASES,
}


def full_names() -> list[str]:
    """Of all cases, in order."""
    return [f"{family}/{case.name}" for family, cases in FAMILIES.items() for case in cases]


def chosen(pattern: str) -> dict[str, Case]:
    """The cases in whose full names the regular expression is found."""
    cases = (case for family in FAMILIES.values() for case in family)
    return {name: case for name, case in zip(full_names(), cases) if re.search(pattern, name)}
