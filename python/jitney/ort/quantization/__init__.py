"""Stands for onnxruntime.quantization: names resolve, settings can be made, calls say that they are not here."""

from __future__ import annotations

from typing import Any

from ..offline import absent
from .settings import CalibrationMethod, QuantFormat, QuantizationMode, QuantType

__all__ = ["CalibrationMethod", "QuantFormat", "QuantType", "QuantizationMode"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return absent(f"quantization.{name}")
