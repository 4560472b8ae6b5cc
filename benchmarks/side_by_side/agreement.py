"""How far two runtimes' results lie apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

_NOTHING = 1e-6


def largest_error(reference: Path, other: Path) -> float:
    """The largest difference() of results that were saved as .npz files."""
    with np.load(reference) as first, np.load(other) as second:
        if len(first.files) != len(second.files):
            return float("inf")
        return max((difference(first[name], second[name]) for name in first.files), default=0.0)


def difference(wanted: npt.NDArray[np.generic], found: npt.NDArray[np.generic]) -> float:
    """The largest one, relative to the largest value of the output (of its channel where there are three axes or more).

    Infinite where sizes or NaNs differ; differences below 1e-6 count as none.
    """
    if wanted.size != found.size or (wanted.ndim == found.ndim and wanted.shape != found.shape):
        return float("inf")
    if wanted.size == 0:
        return 0.0
    x, y = np.asarray(wanted, np.float64), np.asarray(found, np.float64).reshape(wanted.shape)
    if not np.array_equal(np.isnan(x), np.isnan(y)):
        return float("inf")
    x, y = np.nan_to_num(x), np.nan_to_num(y)
    error = np.abs(x - y)
    error = np.where(error < _NOTHING, 0, error)
    axes = tuple(axis for axis in range(x.ndim) if axis != 1) if x.ndim >= 3 else None
    return float(np.max(error / (np.max(np.abs(x), axis=axes, keepdims=True) + 1e-12)))
