"""Draws inputs for the catalogue's models."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from catalogue import Entry


def draw(entry: Entry, shapes: dict[str, tuple[int, ...]], seed: int) -> dict[str, npt.NDArray[np.generic]]:
    """Numbers for inputs of these shapes; integers stay below the entry's limits."""
    rng = np.random.default_rng(seed)
    return {
        name: rng.integers(0, entry.limits[name], shape) if name in entry.limits else rng.uniform(-1, 1, shape).astype(np.float32)
        for name, shape in shapes.items()
    }
