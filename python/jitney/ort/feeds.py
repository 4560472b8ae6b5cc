"""Checks what a program feeds, as ONNX Runtime does, and turns it into arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .exceptions import InvalidArgument, NodeFailure
from .interface import NodeArg
from .spelling import dtype_of, spelled_dtype
from .values import Array, OrtValue


def to_array(value: Any, arg: NodeArg, unused: bool) -> Array | None:
    """The array to run on; None if the value is None for an input that nothing reads."""
    if isinstance(value, OrtValue):
        array = value._tensor()
        given = value.data_type()
    elif isinstance(value, np.ndarray):
        array = np.asarray(value)
        given = spelled_dtype(array.dtype)
    elif isinstance(value, list):
        array = _from_list(value, arg)
        given = arg.type
    elif value is None:
        if unused:
            return None
        raise NodeFailure.of(f"Missing Input: {arg.name}")
    elif isinstance(value, (tuple, str, bytes, dict)):
        raise RuntimeError(f"Input must be a list of dictionaries or a single numpy array for input '{arg.name}'.")
    else:
        raise RuntimeError(f"Unable to handle object of type {type(value)}")
    if given != arg.type:
        raise InvalidArgument.of(f"Unexpected input data type. Actual: ({given}) , expected: ({arg.type})")
    _check_shape(array.shape, arg)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _from_list(value: list[Any], arg: NodeArg) -> Array:
    if not arg.type.startswith("tensor("):
        raise RuntimeError(f"input '{arg.name}' is a {arg.type}; only tensors can be fed")
    try:
        return np.array(value, dtype=dtype_of(arg.type))
    except (ValueError, TypeError, OverflowError) as error:
        raise RuntimeError(f"Could not create tensor from given input list for input '{arg.name}': {error}") from None


def _check_shape(shape: tuple[int, ...], arg: NodeArg) -> None:
    dims = arg.shape
    if not dims:  # scalars take arrays of any rank, as with ONNX Runtime
        return
    if len(shape) != len(dims):
        raise InvalidArgument.of(
            f"Invalid rank for input: {arg.name} Got: {len(shape)} Expected: {len(dims)} "
            f"Please fix either the inputs/outputs or the model."
        )
    wrong = [(axis, size, dim) for axis, (size, dim) in enumerate(zip(shape, dims)) if isinstance(dim, int) and size != dim]
    if wrong:
        lines = "".join(f"\n index: {axis} Got: {size} Expected: {dim}" for axis, size, dim in wrong)
        raise InvalidArgument.of(
            f"Got invalid dimensions for input: {arg.name} for the following indices{lines}\n"
            f" Please fix either the inputs/outputs or the model."
        )
