"""Stands for onnxruntime.quantization.registry: tables of what can be quantised, which is nothing here."""

from __future__ import annotations

from typing import Any

from ..offline import absent_below

CommonOpsRegistry: dict[str, Any] = {}
IntegerOpsRegistry: dict[str, Any] = {}
QLinearOpsRegistry: dict[str, Any] = {}
QDQRegistry: dict[str, Any] = {}


__getattr__ = absent_below("quantization.registry")
