"""Turns ONNX models into .jny files: load, lower, simplify, write, verify."""

from __future__ import annotations

from .bisect import Bisection, bisect
from .check import CheckReport, check
from .convert import convert, verify
from .report import OutputCheck, Report, Verification

__all__ = ["Bisection", "CheckReport", "OutputCheck", "Report", "Verification", "bisect", "check", "convert", "verify"]
