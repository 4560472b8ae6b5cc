"""What a model is fed where only its time matters: files that are given, else drawn numbers of the sizes asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from jitney.cli.images import ImageOptions
from jitney.cli.options import parse_shapes
from jitney.cli.tensors import read_inputs
from jitney.dtypes import numpy_dtype
from jitney.errors import InvalidInput
from jitney.model import TensorInfo
from jitney.session import Session

RealInputs = Annotated[
    list[str] | None,
    typer.Option("--input", "-i", metavar="NAME=FILE", help="Real values for an input, else random ones.", show_default=False),
]

_MOST_ELEMENTS = 2**58


def feeds_for(session: Session, inputs: Sequence[str] | None, shape: Sequence[str] | None) -> dict[str, npt.NDArray[Any]]:
    """An array for each input that is no state: from `--input` files, or drawn with the sizes of `--shape`."""
    fed = read_inputs(inputs or (), session.inputs, ImageOptions(), session.metadata)
    shapes = parse_shapes(shape, session.inputs)
    kept = {before for before, _ in session.model.states}
    for name in fed:
        if name in shapes:
            raise InvalidInput(f"input '{name}' has both --input and --shape")
    missing = [info for info in session.inputs if info.name not in fed and info.name not in kept]
    given = shapes | {name: array.shape for name, array in fed.items()}
    for info, dims in _shapes_of(missing, given, session.inputs):
        fed[info.name] = _random(info, dims)
    return fed


def _shapes_of(
    missing: Sequence[TensorInfo], given: Mapping[str, tuple[int, ...]], inputs: Sequence[TensorInfo]
) -> list[tuple[TensorInfo, tuple[int, ...]]]:
    """The shapes of missing inputs: those given, or what follows from the names that sizes share with given shapes."""
    sizes = {dim: size for info in inputs for dim, size in zip(info.shape or (), given.get(info.name, ())) if dim != "?"}
    shapes: list[tuple[TensorInfo, tuple[int, ...]]] = []
    unknown: list[TensorInfo] = []
    for info in missing:
        known = tuple(size for dim in info.shape or () if (size := dim if isinstance(dim, int) else sizes.get(dim)) is not None)
        if info.name in given:
            shapes.append((info, given[info.name]))
        elif info.shape is not None and len(known) == len(info.shape):
            shapes.append((info, known))
        else:
            unknown.append(info)
    if unknown:
        named = ", ".join(f"'{info}'" for info in unknown)
        raise InvalidInput(f"{'inputs have' if len(unknown) > 1 else 'an input has'} open sizes: {named}", hint=_advice(unknown))
    return shapes


def _advice(unknown: Sequence[TensorInfo]) -> str:
    """Options that fix all sizes; inputs whose sizes follow from others need none."""
    fixed: set[int | str] = set()
    options: list[str] = []
    for info in unknown:
        named = {dim for dim in info.shape or () if isinstance(dim, str)}
        if info.shape is None or "?" in named or not named <= fixed:
            options.append(f"--shape {info.name}={'…' if info.shape is None else ','.join(map(str, info.shape))}")
            fixed |= named
    return f"add {' '.join(options)} with numbers in place of names"


def _random(info: TensorInfo, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Normal numbers for floats; zeros for the rest, which every consumer of indices allows."""
    if math.prod(shape) > _MOST_ELEMENTS:
        raise InvalidInput(f"--shape {info.name}={','.join(map(str, shape))} is more than any memory can hold")
    if "float" not in info.dtype:
        return np.zeros(shape, numpy_dtype(info.dtype))
    return np.random.default_rng(0).standard_normal(shape, np.float32).astype(numpy_dtype(info.dtype))
