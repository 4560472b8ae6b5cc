"""Stands for onnxruntime.tools: names resolve, calls say that they are not here."""

from __future__ import annotations

from typing import Any

from ..offline import absent


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return absent(f"tools.{name}")
