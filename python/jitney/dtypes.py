"""NumPy dtypes by the names that models use, with ml_dtypes' for the types that NumPy lacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney.extras import require


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype of that name; raises Unsupported if it needs ml_dtypes and that is not installed."""
    try:
        return np.dtype(name)
    except TypeError:
        require("ml_dtypes", "convert", f"the dtype {name}")
        import ml_dtypes

        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return dtype
