"""onnxruntime.capi._pybind_state: the same names as onnxruntime_pybind11_state."""

from __future__ import annotations

from typing import Any

from . import onnxruntime_pybind11_state


def __getattr__(name: str) -> Any:
    return getattr(onnxruntime_pybind11_state, name)
