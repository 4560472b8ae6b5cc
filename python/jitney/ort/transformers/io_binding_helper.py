"""onnxruntime.transformers.io_binding_helper: the type tables that programs use at run time."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ..offline import absent_below
from ..spelling import NAMES


class TypeHelper:
    """Element types of inputs and outputs in other packages' words."""

    @staticmethod
    def get_input_type(ort_session: Any, name: str) -> str:
        """The spelling of an input's type."""
        return _type_of(ort_session.get_inputs(), name)

    @staticmethod
    def get_output_type(ort_session: Any, name: str) -> str:
        """The spelling of an output's type."""
        return _type_of(ort_session.get_outputs(), name)

    @staticmethod
    def ort_type_to_numpy_type(ort_type: str) -> Any:
        """NumPy's type."""
        kind = _known(ort_type)
        if kind == "bool":
            return bool
        if not hasattr(np, kind):
            raise ValueError(f"NumPy has no type for {ort_type}")
        return getattr(np, kind)

    @staticmethod
    def ort_type_to_torch_type(ort_type: str) -> Any:
        """PyTorch's type."""
        return getattr(importlib.import_module("torch"), _known(ort_type))

    @staticmethod
    def get_io_numpy_type_map(ort_session: Any) -> dict[str, Any]:
        """NumPy's type of each input and output."""
        args = [*ort_session.get_inputs(), *ort_session.get_outputs()]
        return {arg.name: TypeHelper.ort_type_to_numpy_type(arg.type) for arg in args}


def _type_of(args: list[Any], name: str) -> str:
    for arg in args:
        if arg.name == name:
            return str(arg.type)
    raise ValueError(f"{name} is neither an input nor an output")


def _known(ort_type: str) -> str:
    if ort_type not in NAMES or ort_type == "tensor(string)":
        raise ValueError(f"{ort_type} is not a known type")
    return NAMES[ort_type][1]


__getattr__ = absent_below("transformers.io_binding_helper")
