"""Lowers ONNX graphs to the IR: one function per op and version in which its meaning changed; others by their function body."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import onnx

from jitney.errors import Error, InvalidModel, Unsupported

from ..dims import Shapes, input_types
from ..infer import infer_shapes
from ..ir import Model, Value
from ..load import Loaded, canonical_domain
from . import (  # noqa: F401  (importing a family registers its lowerings)
    affine_grid,
    attention,
    block_quantised,
    control,
    crop_and_resize,
    einsum,
    elementwise,
    features,
    fused,
    gated,
    generators,
    group_query_attention,
    indexing,
    integers,
    loop,
    masks,
    matmul,
    microsoft_attention,
    microsoft_norm,
    microsoft_schemas,
    movement,
    norm,
    old,
    qlinear,
    quantize,
    random,
    reduce,
    resize,
    rnn,
    rotary,
    scan,
    sequences,
    signal,
    state_conv,
    trees,
    vision,
    window,
)
from .compound import OptionalValue, SequenceValue
from .context import Context, Poison, Scope
from .functions import overload_of
from .graph import GraphBuilder
from .problems import explain, summary
from .registry import lowered_ops

__all__ = ["find_problems", "lower", "lowered_ops"]


def lower(loaded: Loaded, shapes: Shapes | None = None, *, sizes_are_final: bool = True, spread_sequences: bool = False) -> Model:
    """The model's IR, with the types of all values. Raises one Unsupported that lists all nodes that cannot be converted.

    `sizes_are_final` is False if sizes that the model fixes will be opened later: then no branch is decided by them. With
    `spread_sequences` the elements of a sequence among the outputs become outputs, named by `element_name`."""
    context = _context(loaded, sizes_are_final)
    context.spread_sequences = spread_sequences
    try:
        model = _lower(loaded, shapes, context)
    except (InvalidModel, Unsupported) as error:
        explain(error, context.origin(error.node))
        raise
    if context.unsupported:
        raise summary([error for error in context.unsupported if isinstance(error, Unsupported)])
    return model


def find_problems(loaded: Loaded, shapes: Shapes | None = None, *, sizes_are_final: bool = True) -> list[Error]:
    """All that stands in the way of lowering the model; what follows from a problem that is listed is left out."""
    context = _context(loaded, sizes_are_final)
    context.collecting = True
    try:
        _lower(loaded, shapes, context)
    except (InvalidModel, Unsupported) as error:
        explain(error, context.origin(error.node))
        context.unsupported.append(error)
    return context.unsupported


def _context(loaded: Loaded, sizes_are_final: bool) -> Context:
    functions = {(canonical_domain(each.domain), each.name, overload_of(each)): each for each in loaded.proto.functions}
    names = _value_names(loaded.proto.graph)
    return Context(loaded.folder, functions, sizes_are_final, names, warnings=loaded.warnings, size=len(names))


def _lower(loaded: Loaded, shapes: Shapes | None, context: Context) -> Model:
    proto = loaded.proto.graph
    builder = GraphBuilder(context, proto.name)
    scope = Scope(loaded.opsets)
    # An initializer that is listed among the inputs too is a default that callers could override; it is taken as fixed.
    fixed = {tensor.name for tensor in proto.initializer} | {sparse.values.name for sparse in proto.sparse_initializer}
    inputs = [info for info in proto.input if info.name not in fixed]
    names = Counter(info.name for info in inputs)
    if names and max(names.values()) > 1:
        raise InvalidModel(f"the input '{names.most_common(1)[0][0]}' is declared twice")
    if context.collecting:
        inputs = _without_bad_inputs(inputs, scope, context)
    for name, (dtype, shape) in input_types(inputs, shapes or {}).items():
        scope.values[name] = Value(name, dtype, shape)
        builder.graph.inputs.append(scope.values[name])
    if not proto.output:
        raise InvalidModel("the model has no outputs")
    results = builder.lower_body(proto, scope)
    builder.graph.outputs, output_names = _outputs(proto.output, results, context.spread_sequences)
    if len(set(output_names)) != len(output_names):
        raise InvalidModel("two outputs have the same name")
    model = Model(builder.graph, {}, output_names)
    if not context.unsupported:
        infer_shapes(model)
    return model


def element_name(sequence: str, index: int) -> str:
    """The name of an output that is an element of a sequence."""
    return f"{sequence}[{index}]"


def _outputs(
    infos: Sequence[onnx.ValueInfoProto], results: Sequence[Value], spread_sequences: bool
) -> tuple[list[Value], list[str]]:
    """The values that are outputs, and their names."""
    outputs: list[Value] = []
    names: list[str] = []
    for info, value in zip(infos, results, strict=True):
        elements = value.listed() if spread_sequences and isinstance(value, SequenceValue) else []
        tensors = [element for element in elements if isinstance(element, Value)]
        if isinstance(value, (SequenceValue, OptionalValue)) and (not tensors or len(tensors) != len(elements)):
            kind = "a sequence of tensors" if isinstance(value, SequenceValue) else "an optional value"
            raise Unsupported(
                f"an output of the model is {kind}; a run returns tensors only",
                hint="let the model join the tensors (ConcatFromSequence), or return each as an output of its own",
            )
        outputs += tensors or [value]
        names += [element_name(info.name, index) for index in range(len(tensors))] or [info.name]
    return outputs, names


def _without_bad_inputs(inputs: list[onnx.ValueInfoProto], scope: Scope, context: Context) -> list[onnx.ValueInfoProto]:
    """Notes the inputs whose types cannot be had, and poisons what follows from them."""
    good: list[onnx.ValueInfoProto] = []
    for info in inputs:
        try:
            input_types([info], {})
            good.append(info)
        except (InvalidModel, Unsupported) as error:  # noqa: PERF203
            explain(error, None)
            context.unsupported.append(error)
            scope.values[info.name] = _poisoned_input(info)
    return good


def _poisoned_input(info: onnx.ValueInfoProto) -> Poison:
    tensor = info.type.tensor_type
    dtype = tensor.elem_type if tensor.elem_type in onnx.TensorProto.DataType.values() else onnx.TensorProto.UNDEFINED
    if not tensor.HasField("shape"):
        return Poison(info.name, dtype)
    sizes = [dim.dim_value if dim.dim_value > 0 else None for dim in tensor.shape.dim]
    return Poison(info.name, dtype, sizes)


def _value_names(graph: onnx.GraphProto) -> set[str]:
    """All names that values have, so that new ones keep apart from them."""
    names = {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        names.update(node.output)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                names |= _value_names(attribute.g)
    return names
