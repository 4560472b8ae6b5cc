"""Stands for onnxruntime.quantization.registry: tables of what can be quantised, which is nothing here."""

from __future__ import annotations

from typing import Any

from ..offline import absent

CommonOpsRegistry: dict[str, Any] = {}
IntegerOpsRegistry: dict[str, Any] = {}
QLinearOpsRegistry: dict[str, Any] = {}
QDQRegistry: dict[str, Any] = {}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return absent(f"quantization.registry.{name}")
