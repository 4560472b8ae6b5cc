"""Checks what a user feeds to a session against what the model wants; nothing is cast, guessed or ignored."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from jitney.errors import InvalidInput
from jitney.model import TensorInfo

Array = npt.NDArray[Any]


def collect(inputs: object, wanted: Sequence[TensorInfo], optional: Collection[str] = ()) -> dict[str, Array]:
    """{name: array} with every input of the model, each with the right dtype, rank and fixed dims. Those named in `optional` may
    be left out."""
    needed = [info for info in wanted if info.name not in optional]
    if not isinstance(inputs, Mapping):
        if len(needed) != 1:
            raise InvalidInput(
                f"one {_kind(inputs)} was given, but the model has {len(needed)} inputs: {_names(needed)}",
                hint="give a dict: run({name: array, …})",
            )
        return {needed[0].name: _checked(inputs, needed[0])}
    check_names(inputs, wanted, "input")
    missing = [info for info in needed if info.name not in inputs]
    if missing:
        raise InvalidInput(f"no value was given for {_names(missing)}", hint=f"the model's inputs are: {_names(wanted)}")
    return {info.name: _checked(inputs[info.name], info) for info in wanted if info.name in inputs}


def check_names(given: Iterable[Any], known: Sequence[TensorInfo], kind: str) -> None:
    """Raises for a name that the model lacks, suggesting the nearest one."""
    names = [info.name for info in known]
    for name in given:
        if name in names:
            continue
        close = difflib.get_close_matches(str(name), names, n=1)
        advice = f"did you mean '{close[0]}'?" if close else f"the model's {kind}s are: {_names(known)}"
        raise InvalidInput(f"the model has no {kind} named {name!r}", hint=advice)


def check_shape(shape: tuple[int, ...], info: TensorInfo, kind: str = "input") -> None:
    """Raises unless the shape has the rank and the fixed dims that the model wants."""
    if info.shape is None:
        return
    if len(shape) != len(info.shape):
        raise InvalidInput(
            f"{kind} '{info.name}' has rank {len(shape)} (shape {_dims(shape)}); "
            f"rank {len(info.shape)} is wanted: {_dims(info.shape)}",
            hint=_reshaping(shape, info.shape) if kind == "input" else "",
        )
    for axis, (size, dim) in enumerate(zip(shape, info.shape)):
        if isinstance(dim, int) and size != dim:
            raise InvalidInput(
                f"{kind} '{info.name}' has {size} in axis {axis} (shape {_dims(shape)}); {dim} is wanted: {_dims(info.shape)}",
                hint=_reshaping(shape, info.shape) if kind == "input" else "",
            )


def _reshaping(shape: tuple[int, ...], wanted: tuple[int | str, ...]) -> str:
    """How an array of this shape becomes one that is wanted, if only the batch axis or the order of axes differs."""
    if len(shape) + 1 not in (len(wanted), len(wanted) + 1):
        return ""
    batch = "" if len(shape) == len(wanted) else "[np.newaxis]"
    batched = (1, *shape) if batch else shape
    if len(batched) == 4 and not _fits(batched, wanted):
        for order, channels, name in (((0, 3, 1, 2), 1, "channels first"), ((0, 2, 3, 1), 3, "channels last")):
            if isinstance(wanted[channels], int) and _fits([batched[axis] for axis in order], wanted):
                return f"the model wants {name}: array{batch}.transpose{order}"
    return f"add the batch axis: array{batch}" if batch and _fits(batched, wanted) else ""


def _fits(shape: Sequence[int], wanted: tuple[int | str, ...]) -> bool:
    return all(isinstance(dim, str) or size == dim for size, dim in zip(shape, wanted))


def _checked(value: object, info: TensorInfo) -> Array:
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if not isinstance(value, np.ndarray):
        raise InvalidInput(
            f"input '{info.name}' is of type {_kind(value)}; a NumPy array of {info.dtype} is wanted",
            hint=f"np.asarray(value, np.{info.dtype})" if isinstance(value, (int, float, list, tuple)) else "",
        )
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidInput(f"input '{info.name}' is a masked array; models know no masks", hint="use array.filled(value)")
    check_dtype(value, info)
    check_shape(value.shape, info)
    return value


def check_dtype(array: Array, info: TensorInfo, kind: str = "input") -> None:
    """Raises unless the array has the dtype that the model wants, in this machine's byte order."""
    if array.dtype.name != info.dtype:
        raise InvalidInput(
            f"{kind} '{info.name}' has dtype {array.dtype.name}; {info.dtype} is wanted",
            hint=f"array.astype({_spelled(info.dtype)}), if that is what you mean",
        )
    if not array.dtype.isnative:
        raise InvalidInput(
            f"{kind} '{info.name}' has foreign byte order ({array.dtype.str}); {info.dtype} in native order is wanted",
            hint=f"array.astype({_spelled(info.dtype)})",
        )


def _spelled(dtype: str) -> str:
    if dtype == "bool":
        return "bool"
    return f"np.{dtype}" if hasattr(np, dtype) else f"ml_dtypes.{dtype}"


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__


def _names(tensors: Iterable[TensorInfo]) -> str:
    return ", ".join(f"'{info.name}'" for info in tensors)


def _dims(shape: Sequence[int | str]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"
