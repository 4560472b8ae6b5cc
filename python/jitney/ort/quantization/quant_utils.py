"""Stands for onnxruntime.quantization.quant_utils."""

from __future__ import annotations

from typing import Any

from ..offline import absent
from .settings import QuantFormat, QuantizationMode, QuantType

__all__ = ["QuantFormat", "QuantType", "QuantizationMode"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return absent(f"quantization.quant_utils.{name}")
