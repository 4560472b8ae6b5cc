"""Stands for onnxruntime.quantization.calibrate."""

from __future__ import annotations

from typing import Any

from ..offline import absent
from .settings import CalibrationMethod

__all__ = ["CalibrationMethod"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return absent(f"quantization.calibrate.{name}")
