"""Which tests of the suite are about what a runtime of tensors does: decided by types and domains, never by names of tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto

_TRAINING_DOMAIN = "ai.onnx.preview.training"
_COMMON_TYPES = {
    TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BOOL,
    TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64,
    TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64,
}  # fmt: skip
_CONTAINER_OPS = {
    "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt", "SequenceConstruct",
    "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength", "SequenceMap", "SplitToSequence",
}  # fmt: skip
_RANDOM_OPS = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}


def in_scope(model: ModelProto) -> bool:
    """All but training, and what works on sequences, optionals, maps or strings."""
    if any(node.domain == _TRAINING_DOMAIN or node.op_type in _CONTAINER_OPS for node in _nodes(model)):
        return False
    types = [info.type for info in (*model.graph.input, *model.graph.output)]
    return all(type_.HasField("tensor_type") and type_.tensor_type.elem_type != TensorProto.STRING for type_ in types)


def is_core(model: ModelProto) -> bool:
    """In scope, with common types only, without random numbers, image decoding and other domains than ONNX's own."""
    if not in_scope(model):
        return False
    for node in _nodes(model):
        if node.domain not in ("", "ai.onnx") or node.op_type == "ImageDecoder" or _draws_random_numbers(node):
            return False
    return set(_element_types(model)) <= _COMMON_TYPES


def _draws_random_numbers(node: NodeProto) -> bool:
    """Dropout has a third operand where it may be training."""
    return node.op_type in _RANDOM_OPS or (node.op_type == "Dropout" and len(node.input) > 2 and bool(node.input[2]))


def _nodes(model: ModelProto) -> Iterator[NodeProto]:
    yield from _nodes_of(model.graph.node)
    for function in model.functions:
        yield from _nodes_of(function.node)


def _nodes_of(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                yield from _nodes_of(graph.node)


def _element_types(model: ModelProto) -> Iterator[int]:
    """Of inputs, outputs and stored tensors."""
    graph: GraphProto = model.graph
    for info in (*graph.input, *graph.output):
        yield _element_type(info.type)
    for tensor in graph.initializer:
        yield tensor.data_type


def _element_type(type_: TypeProto) -> int:
    return int(type_.tensor_type.elem_type)
