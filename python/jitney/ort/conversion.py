"""Converts an ONNX model as a session of ONNX Runtime needs it, and notes its interface in ONNX's words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count, takewhile
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped, unused-ignore]
from onnx import TensorProto, numpy_helper

from jitney.converter.convert import compile_model
from jitney.converter.ir import Affine, Value
from jitney.converter.ir import Dim as IrDim
from jitney.converter.load import load
from jitney.converter.lower import element_name
from jitney.converter.write import Layout, lay_out
from jitney.errors import InvalidModel

from .exceptions import UnreadableModel
from .interface import KEY, UNSET_VERSION, Dim, Interface, ModelMetadata, NodeArg
from .recipe import Recipe
from .spelling import spelled_number

_OVERRIDABLE_SINCE_IR = 4


@dataclass(frozen=True)
class Converted:
    """A model ready to be written."""

    layout: Layout
    externals: list[str]
    """Names of the files that its weights were read from."""


def convert(source: str | bytes, recipe: Recipe) -> Converted:
    """Converts without verifying: a program that starts wants to run, and `jitney verify` is there for doubts."""
    try:
        loaded = load(source)
    except InvalidModel as error:
        raise _unreadable(error, source) from error
    proto = loaded.proto
    externals = sorted(_external_files(proto.graph))
    _fix_symbols(proto.graph, dict(recipe.free_dimensions))
    interface = _describe(proto)
    declared = _open_inputs(proto.graph, recipe, interface.unused)
    model = compile_model(loaded, spread_sequences=True)
    results = dict(zip(model.output_names, model.graph.outputs, strict=True))
    outputs = _merged_outputs(interface.outputs, results, _spellings(declared, model.graph.inputs))
    sequences = {arg.name: _elements(arg.name, results) for arg in outputs if arg.name not in results}
    model.metadata[KEY] = replace(interface, outputs=outputs, sequences=sequences).to_json()
    return Converted(lay_out(model), externals)


def _unreadable(error: InvalidModel, source: str | bytes) -> InvalidModel | UnreadableModel:
    """What ONNX Runtime raises if this is no model at all; otherwise the error itself, about what is wrong with the model."""
    prefix = f"Load model from {source} failed:" if isinstance(source, str) else ""
    try:
        proto = onnx.ModelProto.FromString(source if isinstance(source, bytes) else Path(source).read_bytes())
    except (DecodeError, OSError):
        text = f"[ONNXRuntimeError] : 7 : INVALID_PROTOBUF : {prefix}Protobuf parsing failed: {error.message}"
        return UnreadableModel(text, hint=error.hint)
    if proto.HasField("graph"):
        return error
    text = f"[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : {prefix}No graph was found in the protobuf: {error.message}"
    return UnreadableModel(text, hint=error.hint)


def _describe(proto: onnx.ModelProto) -> Interface:
    graph = proto.graph
    fixed = {tensor.name for tensor in graph.initializer} | {sparse.values.name for sparse in graph.sparse_initializer}
    overridable = [info for info in graph.input if info.name in fixed and proto.ir_version >= _OVERRIDABLE_SINCE_IR]
    inputs = [info for info in graph.input if info.name not in fixed]
    read = {info.name for info in graph.output} | set(_names_read(graph))
    metadata = ModelMetadata(
        proto.producer_name,
        graph.name,
        proto.domain,
        proto.doc_string,
        graph.doc_string,
        proto.model_version if proto.HasField("model_version") else UNSET_VERSION,
        tuple({entry.key: entry.value for entry in proto.metadata_props}.items()),
    )
    unused = frozenset(info.name for info in inputs if info.name not in read)
    return Interface(_args(inputs), _args(graph.output), _args(overridable), unused, metadata)


def _names_read(graph: onnx.GraphProto) -> Iterator[str]:
    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                yield from _names_read(inner)
                yield from (info.name for info in inner.output)


def _args(infos: Iterable[onnx.ValueInfoProto]) -> list[NodeArg]:
    return [NodeArg(info.name, _spelled(info.type), _dims(info.type)) for info in infos]


def _spelled(kind: onnx.TypeProto) -> str:
    which = kind.WhichOneof("value")
    if which == "sequence_type":
        return f"seq({_spelled(kind.sequence_type.elem_type)})"
    if which == "optional_type":
        return f"optional({_spelled(kind.optional_type.elem_type)})"
    if which == "map_type":
        key = spelled_number(kind.map_type.key_type).removeprefix("tensor(").removesuffix(")")
        return f"map({key},{_spelled(kind.map_type.value_type)})"
    return spelled_number(kind.tensor_type.elem_type) if which == "tensor_type" else ""


def _dims(kind: onnx.TypeProto) -> list[Dim] | None:
    if kind.WhichOneof("value") != "tensor_type" or not kind.tensor_type.HasField("shape"):
        return None
    return [_dim(dim) for dim in kind.tensor_type.shape.dim]


def _dim(dim: onnx.TensorShapeProto.Dimension) -> Dim:
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    return dim.dim_param or None


def _fix_symbols(graph: onnx.GraphProto, sizes: dict[str, int]) -> None:
    for info in (*graph.input, *graph.output):
        for dim in info.type.tensor_type.shape.dim:
            if sizes.get(dim.dim_param, -1) >= 0:
                dim.dim_value = sizes[dim.dim_param]


def _open_inputs(graph: onnx.GraphProto, recipe: Recipe, unused: frozenset[str]) -> dict[str, list[Dim]]:
    """Changes the graph as the recipe says; returns the dims, as they are spelled, of the inputs that are left."""
    given = recipe.replaced.arrays
    for index in reversed(range(len(graph.initializer))):
        tensor = graph.initializer[index]
        if tensor.name in recipe.as_inputs:
            del graph.initializer[index]
        elif tensor.name in given:
            tensor.CopyFrom(numpy_helper.from_array(given[tensor.name], tensor.name))
    for index in reversed(range(len(graph.sparse_initializer))):
        if graph.sparse_initializer[index].values.name in recipe.as_inputs:
            del graph.sparse_initializer[index]
    for index in reversed(range(len(graph.input))):
        if graph.input[index].name in unused:
            del graph.input[index]
    ranks = dict(recipe.ranks)
    spelled: dict[str, list[Dim]] = {}
    for info in graph.input:
        shape = info.type.tensor_type.shape
        for _ in range(ranks.get(info.name, 0)):
            shape.dim.add()
        if recipe.anonymous:
            for dim in shape.dim:
                dim.ClearField("dim_param")
        spelled[info.name] = [_dim(dim) for dim in shape.dim]
    return spelled


def _spellings(declared: dict[str, list[Dim]], inputs: Iterable[Value]) -> dict[str, Dim]:
    """The author's spelling of each symbol that the converter uses; it has one for a size of 0 too."""
    spelled: dict[str, Dim] = {}
    for value in inputs:
        for dim, text in zip(value.shape or (), declared.get(value.name, ())):
            if isinstance(dim, Affine) and text is not None:
                spelled.setdefault(str(dim), text)
    return spelled


def _elements(sequence: str, results: Collection[str]) -> list[str]:
    """The names of the outputs that are a sequence's elements."""
    return list(takewhile(lambda name: name in results, (element_name(sequence, index) for index in count())))


def _merged_outputs(declared: list[NodeArg], inferred: dict[str, Value], spelled: dict[str, Dim]) -> list[NodeArg]:
    """The outputs' shapes as ONNX Runtime tells them: what the author declared, completed by what is inferred."""
    merged = []
    for arg in declared:
        value = inferred.get(arg.name)
        if value is None:  # a sequence
            merged.append(arg)
            continue
        known = None if value.shape is None else [_told(dim, spelled) for dim in value.shape]
        kind = arg.type if arg.type and arg.type != spelled_number(TensorProto.UNDEFINED) else spelled_number(value.dtype)
        merged.append(NodeArg(arg.name, kind, _merged_dims(arg._dims, known)))
    return merged


def _told(dim: IrDim, spelled: dict[str, Dim]) -> Dim:
    return spelled.get(str(dim)) if isinstance(dim, Affine) else dim


def _merged_dims(declared: tuple[Dim, ...] | None, inferred: list[Dim] | None) -> list[Dim] | None:
    if declared is None or inferred is None:
        return list(declared) if declared is not None else inferred
    if len(declared) != len(inferred):
        return None
    if any(isinstance(mine, int) and isinstance(other, int) and mine != other for mine, other in zip(declared, inferred)):
        return [mine if mine == other else None for mine, other in zip(declared, inferred)]
    return [
        other if mine is None or (isinstance(mine, str) and isinstance(other, int)) else mine
        for mine, other in zip(declared, inferred)
    ]


def _external_files(message: onnx.GraphProto) -> set[str]:
    """Names of the files that hold tensors, of subgraphs and attributes too."""
    tensors = [*message.initializer]
    for sparse in message.sparse_initializer:
        tensors += [sparse.values, sparse.indices]
    names: set[str] = set()
    for node in message.node:
        for attribute in node.attribute:
            tensors += [*attribute.tensors, *([attribute.t] if attribute.HasField("t") else [])]
            for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                names |= _external_files(inner)
    for tensor in tensors:
        if tensor.data_location == TensorProto.EXTERNAL:
            names |= {entry.value for entry in tensor.external_data if entry.key == "location"}
    return names
