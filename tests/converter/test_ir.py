"""The converter's form of dims."""

from __future__ import annotations

import pytest

from jitney.converter.ir import Affine


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (Affine(0, (("N", 1),)), "N"),
        (Affine(-1, (("N", 2),)), "2*N - 1"),
        (Affine(3, (("M", -4), ("N", 1))), "-4*M + N + 3"),
        (Affine(0, (("N", -1),)), "-N"),
        (Affine(5, ()), "5"),
        (Affine(0, ()), "0"),
    ],
)
def test_dims_are_printed_as_the_runtime_does(dim: Affine, text: str) -> None:
    assert str(dim) == text
