"""Stands for onnxruntime.transformers: names resolve, calls say that they are not here."""

from __future__ import annotations

from ..offline import absent_below

__getattr__ = absent_below("transformers")
