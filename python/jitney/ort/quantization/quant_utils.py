"""Stands for onnxruntime.quantization.quant_utils."""

from __future__ import annotations

from ..offline import absent_below
from .settings import QuantFormat, QuantizationMode, QuantType

__all__ = ["QuantFormat", "QuantType", "QuantizationMode"]


__getattr__ = absent_below("quantization.quant_utils")
