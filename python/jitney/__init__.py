"""Jitney runs neural networks on small machines: convert an ONNX model once, then run the file anywhere.

jitney.convert("model.onnx", "model.jny")            # needs jitney[convert]
with jitney.Session("model.jny") as session:
    outputs = session.run({"x": array})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jitney._core import version as _version
from jitney.errors import (
    Error,
    InternalError,
    InvalidInput,
    InvalidModel,
    IoError,
    Mismatch,
    OutOfMemory,
    SessionClosed,
    Unsupported,
)
from jitney.input_format import InputFormat
from jitney.model import Model, TensorInfo
from jitney.reports import BackendReport, MemoryReport, PlanReport, StepReport
from jitney.session import Session
from jitney.state import State

if TYPE_CHECKING:
    from jitney.converter.convert import convert

__version__ = _version()

__all__ = [
    "BackendReport",
    "Error",
    "InputFormat",
    "InternalError",
    "InvalidInput",
    "InvalidModel",
    "IoError",
    "MemoryReport",
    "Mismatch",
    "Model",
    "OutOfMemory",
    "PlanReport",
    "Session",
    "SessionClosed",
    "State",
    "StepReport",
    "TensorInfo",
    "Unsupported",
    "__version__",
    "convert",
]


def __getattr__(name: str) -> Any:
    """Imports the converter, and onnx with it, only when it is asked for."""
    if name != "convert":
        raise AttributeError(f"module 'jitney' has no attribute '{name}'")
    from jitney.extras import require

    require("onnx", "convert", "converting a model")
    from jitney.converter.convert import convert

    return convert


def __dir__() -> list[str]:
    return sorted(__all__)
