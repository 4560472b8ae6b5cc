"""onnxruntime.capi._pybind_state: the same names as onnxruntime_pybind11_state."""

from __future__ import annotations

from typing import Any

from . import onnxruntime_pybind11_state
from .onnxruntime_pybind11_state import *  # noqa: F403
from .onnxruntime_pybind11_state import __all__ as __all__


def __getattr__(name: str) -> Any:
    return getattr(onnxruntime_pybind11_state, name)
