"""Stands for onnxruntime.quantization: names resolve, settings can be made, calls say that they are not here."""

from __future__ import annotations

from ..offline import absent_below
from .settings import CalibrationMethod, QuantFormat, QuantizationMode, QuantType

__all__ = ["CalibrationMethod", "QuantFormat", "QuantType", "QuantizationMode"]


__getattr__ = absent_below("quantization")
