"""Inputs for verification: real ones from a sample, or random ones of plausible sizes and values."""

from __future__ import annotations

import itertools
import math
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper

from jitney.errors import InvalidInput, OutOfMemory

from .ir import Affine, Dim, Graph, Model, Value

Array = npt.NDArray[Any]
Feeds = dict[str, Array]
Sample = str | os.PathLike[str] | Mapping[str, Array]

_PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".webp")
_CARRIERS = {
    "cast",
    "identity",
    "reshape",
    "squeeze",
    "unsqueeze",
    "expand",
    "transpose",
    "slice",
    "concat",
    "flatten",
    "tile",
    "split",
}
"""Ops whose results have the same elements as their first operand."""
_INTEGERS = frozenset({TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8})

_SIZES: tuple[tuple[int, int, int], ...] = (
    (2, 64, 16),
    (1, 48, 8),
    (1, 224, 32),
    (1, 320, 64),
    (1, 32, 4),
    (1, 256, 128),
    (1, 512, 1),
)
"""(batch, spatial size, length) to try in turn for sizes that the model leaves open."""

MOST_ELEMENTS = 1 << 25
"""Of one input that is drawn at random: with copies for noise and for the reference, that is some 800 MB."""

_LAST_RESORT: tuple[int, ...] = (1, 512)
"""Sizes to try in every combination if none of those suits and few are open."""
_MOST_TRIED = 1 << 20
"""Elements of an input of such sizes: as many are tried, each must be quick."""
_MOST_COMBINED = 4
_MOST_CHOICES = 1024


@dataclass(frozen=True)
class InputSpec:
    """What an input takes: type, shape, and which integers its consumers allow."""

    name: str
    dtype: int
    shape: tuple[Dim, ...] | None
    limit: int | None = None
    """Integers are drawn from 0 … limit − 1; None if nothing bounds them."""
    fill: int | None = None
    """An integer that is a good value everywhere, for shapes, axes and counts."""
    choices: tuple[int, ...] = ()
    """Integers that the model compares the input with, which tell what it may mean."""


def input_specs(model: Model) -> list[InputSpec]:
    """The inputs of a lowered model."""
    return [
        InputSpec(
            value.name,
            value.dtype,
            None if value.shape is None else tuple(value.shape),
            _limit(value, model.graph, set()),
            _fill(value, model.graph),
            tuple(sorted(_choices(value, model.graph, set())))[:_MOST_CHOICES],
        )
        for value in model.graph.inputs
    ]


def load_sample(sample: Sample, specs: Sequence[InputSpec]) -> Feeds:
    """The arrays of a sample, checked against the inputs' names, types and sizes."""
    feeds = _read_sample(sample, specs)
    missing = [spec.name for spec in specs if spec.name not in feeds]
    if missing:
        raise InvalidInput(f"the sample has no array for the input '{missing[0]}'; it has {sorted(feeds)}")
    for spec in specs:
        _check_array(feeds[spec.name], spec)
    return {spec.name: feeds[spec.name] for spec in specs}


def check_seed(seed: int) -> None:
    """Raises unless random numbers can be drawn from it."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidInput(f"seed={seed!r} was given; an integer from 0 on is wanted")


def _check_array(array: Array, spec: InputSpec) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(spec.dtype)
    if array.dtype != dtype:
        raise InvalidInput(f"the sample's '{spec.name}' has dtype {array.dtype}; {dtype} is wanted", hint="astype() casts arrays")
    shape = spec.shape if spec.shape is not None else array.shape
    if len(array.shape) != len(shape) or any(isinstance(dim, int) and dim != size for dim, size in zip(shape, array.shape)):
        wanted = ", ".join("?" if dim is None else str(dim) for dim in shape)
        raise InvalidInput(f"the sample's '{spec.name}' has shape {list(array.shape)}; [{wanted}] is wanted")


def _read_sample(sample: Sample, specs: Sequence[InputSpec]) -> Feeds:
    if isinstance(sample, Mapping):
        feeds = {name: np.asarray(array) for name, array in sample.items()}
    elif not isinstance(sample, (str, os.PathLike)):
        raise InvalidInput(f"the sample is of type {type(sample).__name__}; a path or a dict {{input name: array}} is wanted")
    else:
        path = Path(sample)
        if not path.is_file():
            raise InvalidInput(f"there is no sample file '{path}'")
        if path.suffix.lower() in _PICTURES:
            return {_picture_input(specs).name: _picture(path, _picture_input(specs))}
        if path.suffix.lower() not in (".npz", ".npy"):
            raise InvalidInput(f"the sample '{path}' is neither a .npz or .npy file nor a picture")
        try:
            loaded = np.load(path, allow_pickle=False)
            single = isinstance(loaded, np.ndarray)
            feeds = {specs[0].name: loaded} if single else {name: loaded[name] for name in loaded.files}
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise InvalidInput(f"the sample '{path}' cannot be read: {error}") from error
    return feeds


def random_feeds(specs: Sequence[InputSpec], seed: int) -> Iterator[Feeds]:
    """Random inputs; later ones have other sizes, where the model leaves sizes open."""
    for spec in specs:
        fixed = math.prod(dim for dim in spec.shape or () if isinstance(dim, int))
        if fixed > MOST_ELEMENTS:
            raise OutOfMemory(
                f"input '{spec.name}' has {fixed} elements; random values are drawn for up to {MOST_ELEMENTS}",
                hint="--sample FILE gives values; --no-verify needs none",
            )
    open_sizes = any(spec.shape is None or any(not isinstance(dim, int) for dim in spec.shape) for spec in specs)
    for batch, space, length in _SIZES if open_sizes else _SIZES[:1]:
        random = np.random.default_rng(seed)
        symbols: dict[str, int] = {}
        shapes = {spec.name: concrete_shape(spec, symbols, batch, space, length) for spec in specs}
        if max(map(math.prod, shapes.values()), default=0) > MOST_ELEMENTS:
            continue
        yield {spec.name: draw(spec, shapes[spec.name], random) for spec in specs}
    names = {name for spec in specs for name in _open_sizes(spec)}
    if 0 < len(names) <= _MOST_COMBINED:
        for sizes in itertools.product(_LAST_RESORT, repeat=len(names)):
            symbols = dict(zip(sorted(names), sizes))
            shapes = {spec.name: _with_sizes(spec, symbols) for spec in specs}
            if max(map(math.prod, shapes.values())) > _MOST_TRIED:
                continue
            random = np.random.default_rng(seed)
            yield {spec.name: draw(spec, shapes[spec.name], random) for spec in specs}


def _open_sizes(spec: InputSpec) -> list[str]:
    """Names of the sizes that are open; one that has none is called after its place."""
    names: list[str] = []
    for axis, dim in enumerate(spec.shape or ()):
        names += [name for name, _ in dim.terms] if isinstance(dim, Affine) else [f"{spec.name}/{axis}"] if dim is None else []
    return names


def _with_sizes(spec: InputSpec, sizes: Mapping[str, int]) -> tuple[int, ...]:
    named = [sizes[f"{spec.name}/{axis}"] if dim is None else dim for axis, dim in enumerate(spec.shape or ())]
    return tuple(
        dim if isinstance(dim, int) else max(0, dim.constant + sum(factor * sizes[name] for name, factor in dim.terms))
        for dim in named
    )


def concrete_shape(spec: InputSpec, symbols: dict[str, int], batch: int, space: int, length: int) -> tuple[int, ...]:
    """Sizes for open dims, the same for the same symbol."""
    if spec.shape is None:
        return (batch, 3, space, space)
    picture = len(spec.shape) >= 4
    sizes: list[int] = []
    for axis, dim in enumerate(spec.shape):
        size = batch if axis == 0 else (3 if axis == 1 and not isinstance(spec.shape[-1], int) else space) if picture else length
        if isinstance(dim, Affine):
            names = [name for name, _ in dim.terms]
            for name in names:
                symbols.setdefault(name, size)
            size = dim.constant + sum(factor * symbols[name] for name, factor in dim.terms)
        elif isinstance(dim, int):
            size = dim
        sizes.append(max(size, 0))
    return tuple(sizes)


def draw(spec: InputSpec, shape: tuple[int, ...], random: np.random.Generator) -> Array:
    """Random elements that the input's consumers allow."""
    try:
        return _draw(spec, shape, random)
    except MemoryError as error:
        raise OutOfMemory(
            f"random values for input '{spec.name}' of shape {list(shape)} do not fit into memory",
            hint="give a smaller shape; or --no-verify, which needs no values",
        ) from error


def _draw(spec: InputSpec, shape: tuple[int, ...], random: np.random.Generator) -> Array:
    dtype = helper.tensor_dtype_to_np_dtype(spec.dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        if spec.fill is not None:
            return np.full(shape, spec.fill, dtype)
        if spec.choices and spec.limit is None:
            # One number is most telling where it is a peculiar one; among many, those that mean nothing belong too.
            pool = [spec.choices[-1]] if not shape or max(shape) <= 1 else sorted({*spec.choices, 0, 1})
            return random.choice(np.array(pool, dtype), shape)
        high = spec.limit if spec.limit is not None else (256 if dtype.itemsize == 1 else 2)
        info = np.iinfo(dtype)
        low = info.min if spec.limit is None and dtype.itemsize == 1 else 0
        return random.integers(low, low + min(high, int(info.max) - int(low) + 1), shape).astype(dtype)
    if dtype.kind == "c":
        return (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def _limit(value: Value, graph: Graph, seen: set[int]) -> int | None:
    """The smallest table that the value's elements index."""
    if id(value) in seen:
        return None
    seen.add(id(value))
    limits: list[int] = []
    for node, index in graph.consumers().get(value, []):
        table = node.inputs[0]
        if node.op in ("gather", "gather_elements", "scatter_elements") and index == 1 and table is not None and table.shape:
            size = table.shape[int(node.attributes.get("axis", 0))]  # type: ignore[arg-type]
            limits += [size] if isinstance(size, int) else []
        elif node.op in ("gather_nd", "scatter_nd") and index == 1 and table is not None and table.shape:
            limits += [size for size in table.shape if isinstance(size, int)]
        elif (node.op, index) == ("roi_align", 2) and table is not None and table.shape:
            limits += [table.shape[0]] if isinstance(table.shape[0], int) else []
        for _, subgraph in node.subgraphs():
            for outer, stand_in in node.captured(subgraph):
                inner = _limit(stand_in, subgraph, seen) if outer is value else None
                limits += [inner] if inner is not None else []
        if node.op in _CARRIERS and (index == 0 or node.op == "concat"):
            for result in node.outputs:
                inner = _limit(result, graph, seen) if result is not None else None
                limits += [inner] if inner is not None else []
    return min(limits) if limits else None


def _choices(value: Value, graph: Graph, seen: set[int]) -> set[int]:
    """The constants that the value's elements are compared with."""
    found: set[int] = set()
    if id(value) in seen or value.dtype not in _INTEGERS:
        return found
    seen.add(id(value))
    for node, index in graph.consumers().get(value, []):
        if node.op == "equal":
            other = _constant_behind(node.inputs[1 - index])
            if other is not None and other.size <= _MOST_CHOICES:
                found |= {int(item) for item in other.reshape(-1).tolist()}
        elif node.op == "if" and index > 0:
            for _, subgraph in node.subgraphs():
                found |= _choices(subgraph.inputs[index - 1], subgraph, seen)
        elif node.op in _CARRIERS and (index == 0 or node.op == "concat"):
            for result in node.outputs:
                found |= _choices(result, graph, seen) if result is not None else set()
    return found


def _constant_behind(value: Value | None) -> Array | None:
    """The constant whose elements the value has, if that is known."""
    while value is not None and value.constant is None:
        node = value.producer
        value = node.inputs[0] if node is not None and node.op in _CARRIERS and node.op != "concat" else None
    return None if value is None else value.constant


_SHAPE_OPERANDS = {
    ("reshape", 1): 1,
    ("expand", 1): 1,
    ("tile", 1): 1,
    ("top_k", 1): 1,
    ("pad", 1): 0,
    ("slice", 1): 0,
    ("slice", 2): 2**31 - 1,
}
_SHAPE_OPERANDS |= {
    ("slice", 3): 0,
    ("slice", 4): 1,
    ("constant_of_shape", 0): 3,
    ("range", 0): 0,
    ("range", 1): 4,
    ("range", 2): 1,
}
_SHAPE_OPERANDS |= {("cumsum", 1): 0, ("cumprod", 1): 0, ("squeeze", 1): 0, ("unsqueeze", 1): 0, ("reduce", 1): 0}


def _fill(value: Value, graph: Graph) -> int | None:
    """A value that suits an input which decides a shape, an axis or a count."""
    for node, index in graph.consumers().get(value, []):
        if (node.op, index) == ("reshape", 1) and value.shape == [1]:
            return -1
        if (node.op, index) in _SHAPE_OPERANDS:
            return _SHAPE_OPERANDS[node.op, index]
    return None


def _picture_input(specs: Sequence[InputSpec]) -> InputSpec:
    fitting = [spec for spec in specs if spec.shape is not None and len(spec.shape) == 4]
    if len(specs) != 1 or not fitting:
        raise InvalidInput("a picture as sample needs a model with one input of four dimensions", hint="give a .npz file")
    return fitting[0]


def _picture(path: Path, spec: InputSpec) -> Array:
    """The picture in the layout that the shape shows: pixels as 0 … 255 for integers, −1 … 1 for floats."""
    from jitney.extras import require

    require("cv2", "vision", "reading a picture")
    import cv2

    assert spec.shape is not None
    pixels: Any = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR)
    if pixels is None:
        raise InvalidInput(f"'{path}' is no picture that can be read")
    last = spec.shape[3] in (1, 3) and spec.shape[1] not in (1, 3)
    height, width = (spec.shape[1], spec.shape[2]) if last else (spec.shape[2], spec.shape[3])
    # Open sizes keep the picture's own, rounded to what strides of networks divide.
    target = (
        width if isinstance(width, int) else max(32, pixels.shape[1] // 32 * 32),
        height if isinstance(height, int) else max(32, pixels.shape[0] // 32 * 32),
    )
    pixels = cv2.resize(pixels, target, interpolation=cv2.INTER_AREA)
    if (spec.shape[3] if last else spec.shape[1]) == 1:
        pixels = cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY)[:, :, np.newaxis]
    dtype = helper.tensor_dtype_to_np_dtype(spec.dtype)
    image = pixels.astype(dtype) if dtype.kind in "iu" else ((pixels.astype(np.float32) - 127.5) / 127.5).astype(dtype)
    single = np.ascontiguousarray((image if last else image.transpose(2, 0, 1))[np.newaxis])
    batch = spec.shape[0] if isinstance(spec.shape[0], int) else 1
    return np.repeat(single, batch, axis=0)
