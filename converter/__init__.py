"""Turns ONNX models into .jny files: load, lower, simplify, write, verify."""

from __future__ import annotations

from .convert import convert, verify
from .report import OutputCheck, Report, Verification

__all__ = ["OutputCheck", "Report", "Verification", "convert", "verify"]
