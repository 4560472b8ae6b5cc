"""Says how far one output is from the reference's, and how far it may be."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import ml_dtypes
import numpy as np

from .report import OutputCheck
from .sample import Array, Feeds

RELATIVE: Final = 1e-4
"""Allowed error, as a part of the output's largest value."""
NOISE: Final = 1e-6
NOISE_FACTOR: Final = 4.0
ABSOLUTE_FLOOR: Final = 1e-6


def check_output(name: str, expected: Array, actual: Array, noisy: Array) -> OutputCheck:
    """Compares one output, piece by piece along axis 1 where it has three axes or more: pieces may differ in scale.

    `noisy` is what the reference says for inputs with a little noise: no result can be held to more than its own stability.
    """
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        place = f"type and shape, {actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
        return OutputCheck(name, np.inf, 0.0, 0.0, place)
    if _is_whole(expected):
        wrong = int(np.count_nonzero(expected != actual))
        error = float(np.max(_distance(expected, actual), initial=0.0))
        return OutputCheck(name, error, 0.0, _largest(expected), f"{wrong} of {expected.size} elements" if wrong else "")
    checks = [OutputCheck(name, 0.0, ABSOLUTE_FLOOR, 0.0)]
    pieces = range(expected.shape[1]) if expected.ndim >= 3 else [None]
    relative = max(RELATIVE, 8 * _epsilon(expected))
    for index in pieces:
        part = np.s_[...] if index is None else np.s_[:, index]
        wanted, got = expected[part], actual[part]
        largest = _largest(wanted)
        own_change = 0.0
        if noisy.shape == expected.shape:
            change = _distance(wanted, noisy[part])
            own_change = float(np.max(change[np.isfinite(change)], initial=0.0))
        tolerance = max(relative * largest, NOISE_FACTOR * own_change, ABSOLUTE_FLOOR)
        error = float(np.max(_distance(wanted, got), initial=0.0))
        checks.append(OutputCheck(name, error, tolerance, largest, "" if index is None else f"axis 1 index {index}"))
    worst = max(checks, key=lambda check: check.error / check.tolerance)
    return replace(worst, magnitude=_largest(expected))


def with_noise(feeds: Feeds, seed: int) -> Feeds:
    """The inputs, changed as little as rounding would change them."""
    random = np.random.default_rng(seed)
    return {
        name: array
        if _is_whole(array)
        else (array * (1 + max(NOISE, _epsilon(array)) * random.standard_normal(array.shape))).astype(array.dtype)
        for name, array in feeds.items()
    }


def _is_whole(array: Array) -> bool:
    """Whether it holds integers or bools; those of less than 8 bits are of no kind that NumPy knows."""
    return array.dtype.kind in "biu" or "int" in array.dtype.name


def _distance(a: Array, b: Array) -> Array:
    """|a − b|; 0 where both are NaN or the same infinity, infinity where only one is."""
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    x, y = a.astype(wide), b.astype(wide)
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.asarray(np.abs(x - y))
    alike = (x == y) | (np.isnan(x) & np.isnan(y))
    return np.where(alike, 0.0, np.where(np.isnan(difference), np.inf, difference))


def _epsilon(array: Array) -> float:
    return float(ml_dtypes.finfo(array.dtype).eps)  # type: ignore[no-untyped-call, unused-ignore]


def _largest(array: Array) -> float:
    sizes = np.abs(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))
    return float(np.max(sizes[np.isfinite(sizes)], initial=0.0))
