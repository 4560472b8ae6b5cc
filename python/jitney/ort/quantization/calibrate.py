"""Stands for onnxruntime.quantization.calibrate."""

from __future__ import annotations

from ..offline import absent_below
from .settings import CalibrationMethod

__all__ = ["CalibrationMethod"]


__getattr__ = absent_below("quantization.calibrate")
