"""Gives the inputs of an ONNX graph their shapes: sizes, symbols with clean names, and what the user fixed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import TensorProto

from jitney.errors import InvalidInput, InvalidModel, Unsupported
from jitney.model import TensorInfo

from .ir import Dim, symbol
from .tensors import dtype_name

_PLAIN = re.compile(r"[^\W\d][\w.:]*")

_MOST_ELEMENTS = 2**58

Shapes = Mapping[str, Sequence[int | str]]


def input_types(inputs: Sequence[onnx.ValueInfoProto], shapes: Shapes) -> dict[str, tuple[int, list[Dim] | None]]:
    """Dtype and shape of each input. `shapes` overrides what the model says; a symbol fixed at one place is fixed at all."""
    if not isinstance(shapes, Mapping):
        raise InvalidInput(f"shapes is of type {type(shapes).__name__}; a dict {{input name: shape}} is wanted")
    unknown = sorted(set(shapes) - {info.name for info in inputs})
    if unknown:
        names = ", ".join(f"'{info.name}'" for info in inputs)
        raise InvalidInput(f"a shape is given for '{unknown[0]}', but the model's inputs are {names or 'none'}")
    symbols = _Symbols(inputs)
    types = {info.name: (_dtype(info), symbols.shape(info)) for info in inputs}
    fixed: dict[Dim, Dim] = {}
    for name, wanted in shapes.items():
        types[name] = (types[name][0], _override(name, types[name][1], wanted, fixed))
    return {
        name: (dtype, shape if shape is None else [fixed.get(dim, dim) for dim in shape])
        for name, (dtype, shape) in types.items()
    }


def shapes_of_file(taken: Sequence[TensorInfo], graph: onnx.GraphProto, shapes: Shapes | None) -> Shapes:
    """`shapes`, and for other inputs of the ONNX graph what the .jny file fixes and the graph does not. `taken`: its inputs."""
    infos = {info.name: info for info in graph.input}
    result = dict(shapes or {})
    for known in taken:
        info = infos.get(known.name)
        if info is None or known.shape is None:
            continue
        if known.name in result:
            _check_fits(known, result[known.name])
            continue
        declared = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
        if not info.type.tensor_type.HasField("shape"):
            declared = [0] * len(known.shape)
        if len(declared) == len(known.shape) and any(
            isinstance(size, int) and old <= 0 for size, old in zip(known.shape, declared, strict=True)
        ):
            result[known.name] = [old if old > 0 else size for size, old in zip(known.shape, declared, strict=True)]
    return result


def _check_fits(known: TensorInfo, wanted: Sequence[int | str]) -> None:
    """Raises for sizes that the .jny file has fixed otherwise."""
    shape = known.shape or ()
    if len(shape) == len(wanted) and any(
        isinstance(size, int) and isinstance(want, int) and size != want for size, want in zip(shape, wanted, strict=True)
    ):
        raise InvalidInput(
            f"the shape given for input '{known.name}' is {[*wanted]}, but the converted model takes {known}",
            hint="leave it out: sizes that the converted model fixes are taken from it",
        )


def _dtype(info: onnx.ValueInfoProto) -> int:
    kind = info.type.WhichOneof("value")
    if kind is None:
        raise InvalidModel(f"input '{info.name}' has no type")
    if kind != "tensor_type":
        hint = "let the model take the tensors as inputs of their own"
        word = {"sequence_type": "a sequence", "optional_type": "an optional"}.get(kind, "a map or sparse tensor")
        raise Unsupported(f"input '{info.name}' is no tensor but {word}", hint=hint)
    dtype = info.type.tensor_type.elem_type
    if dtype == TensorProto.STRING:
        hint = "let the model begin behind what it does with text, and do that outside"
        raise Unsupported(f"input '{info.name}' is a tensor of strings", hint=hint)
    if dtype == TensorProto.UNDEFINED or dtype not in TensorProto.DataType.values():
        raise InvalidModel(f"input '{info.name}' has the unknown element {dtype_name(dtype)}")
    return int(dtype)


def _override(name: str, declared: list[Dim] | None, wanted: Sequence[int | str], fixed: dict[Dim, Dim]) -> list[Dim]:
    if isinstance(wanted, str) or not isinstance(wanted, Sequence) or not all(_is_size(want) for want in wanted):
        raise InvalidInput(f"the shape given for input '{name}' is {wanted!r}; integers, or names of open sizes, are wanted")
    if declared is not None and len(declared) != len(wanted):
        raise InvalidInput(f"input '{name}' has {len(declared)} dimensions, but the shape given for it has {len(wanted)}")
    result: list[Dim] = []
    for axis, want in enumerate(wanted):
        dim = symbol(want) if isinstance(want, str) else int(want)
        if isinstance(dim, int) and dim < 0:
            raise InvalidInput(f"the shape given for input '{name}' has the size {dim} at axis {axis}; sizes are 0 or more")
        old = declared[axis] if declared is not None else None
        if isinstance(old, int) and isinstance(dim, int) and old != dim:
            raise InvalidInput(
                f"the shape given for input '{name}' has {dim} at axis {axis}, where the model fixes {old}",
                hint="a fixed batch can be opened with --dynamic-batch"
                if axis == 0
                else f"the model declares {[size if isinstance(size, int) else str(size) for size in declared or ()]}",
            )
        if old is not None and not isinstance(old, int) and fixed.setdefault(old, dim) != dim:
            raise InvalidInput(f"the shapes given disagree on the symbol {old}: {fixed[old]} and {dim}")
        result.append(old if isinstance(old, int) else dim)
    if math.prod(dim for dim in result if isinstance(dim, int) and dim > 0) > _MOST_ELEMENTS:
        raise InvalidInput(f"the shape given for input '{name}' is {[*wanted]}: that is more than any memory can hold")
    return result


def _is_size(want: object) -> bool:
    return isinstance(want, (int, np.integer)) or (isinstance(want, str) and _PLAIN.fullmatch(want) is not None)


class _Symbols:
    """Names for open dims: the model's own where they are names, otherwise made from the input's name and the axis."""

    def __init__(self, inputs: Sequence[onnx.ValueInfoProto]) -> None:
        self._taken: set[str] = set()
        self._by_text: dict[str, str] = {}
        for info in inputs:
            for dim in info.type.tensor_type.shape.dim:
                if _PLAIN.fullmatch(dim.dim_param):
                    self._taken.add(dim.dim_param)

    def shape(self, info: onnx.ValueInfoProto) -> list[Dim] | None:
        if not info.type.tensor_type.HasField("shape"):
            return None
        return [self._dim(info.name, axis, dim) for axis, dim in enumerate(info.type.tensor_type.shape.dim)]

    def _dim(self, name: str, axis: int, dim: onnx.TensorShapeProto.Dimension) -> Dim:
        if dim.HasField("dim_value") and dim.dim_value > 0:
            return dim.dim_value
        # Exporters write an open size as −1 or 0 as well: no input of size 0 makes sense.
        text = dim.dim_param.strip()
        if _PLAIN.fullmatch(text):
            return symbol(text)
        stem = re.sub(r"\W+", "_", text).strip("_")
        if not stem or stem[0].isdigit():
            return symbol(self._fresh(f"{re.sub(r'[^0-9A-Za-z_]+', '_', name).strip('_') or 'input'}_{axis}"))
        # The same expression is the same size wherever it stands.
        if text not in self._by_text:
            self._by_text[text] = self._fresh(stem)
        return symbol(self._by_text[text])

    def _fresh(self, stem: str) -> str:
        if stem[0].isdigit():
            stem = f"d{stem}"
        name, count = stem, 0
        while name in self._taken:
            count += 1
            name = f"{stem}_{count}"
        self._taken.add(name)
        return name
