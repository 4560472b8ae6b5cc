"""How a model is to be converted, beyond what it says itself. Needs no onnx."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Replaced:
    """Initializers whose values the program gives."""

    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    def key(self) -> list[list[str]]:
        """Names, types and contents."""
        return [
            [name, str(array.dtype), str(array.shape), hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()]
            for name, array in sorted(self.arrays.items())
        ]


@dataclass(frozen=True)
class Recipe:
    """Says which freedoms of ONNX Runtime's the converted model must have; each costs speed, so it has only those in use."""

    free_dimensions: tuple[tuple[str, int], ...] = ()
    """Sizes for symbols."""
    replaced: Replaced = field(default_factory=Replaced, compare=False)
    as_inputs: frozenset[str] = frozenset()
    """Initializers that become inputs."""
    anonymous: bool = False
    """Equal symbols need not have equal sizes."""
    ranks: tuple[tuple[str, int], ...] = ()
    """Inputs declared as scalars that are fed with arrays of this rank."""

    def key(self) -> list[object]:
        """Tells recipes apart, for the cache."""
        return [
            list(map(list, self.free_dimensions)),
            self.replaced.key(),
            sorted(self.as_inputs),
            self.anonymous,
            list(map(list, self.ranks)),
        ]
