"""Draws inputs for the catalogue's models."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from catalogue import Entry


def draw(entry: Entry, shapes: dict[str, tuple[int, ...]], seed: int) -> dict[str, npt.NDArray[np.generic]]:
    """Numbers for inputs of these shapes; integers stay below the entry's limits."""
    rng = np.random.default_rng(seed)

    def one(name: str, shape: tuple[int, ...]) -> npt.NDArray[np.generic]:
        if name in entry.fixed:
            return np.full(shape, entry.fixed[name], entry.integers)
        if name in entry.limits:
            return rng.integers(0, entry.limits[name], shape).astype(entry.integers)
        return rng.uniform(-1, 1, shape).astype(np.float32)

    return {name: one(name, shape) for name, shape in shapes.items()}
