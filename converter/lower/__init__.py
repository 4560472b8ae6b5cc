"""Lowers ONNX graphs to the IR: one function per op and version in which its meaning changed; others by their function body."""

from __future__ import annotations

from collections import Counter

import onnx

from jitney.errors import InvalidModel, Unsupported

from ..dims import Shapes, input_types
from ..ir import Model, Value
from ..load import Loaded, canonical_domain
from . import (  # noqa: F401  (importing a family registers its lowerings)
    affine_grid,
    control,
    einsum,
    elementwise,
    fused,
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
    qlinear,
    quantize,
    reduce,
    resize,
    rnn,
    rotary,
    scan,
    vision,
    window,
)
from .graph import Context, GraphBuilder, Scope
from .registry import lowered_ops

__all__ = ["lower", "lowered_ops"]


def lower(loaded: Loaded, shapes: Shapes | None = None, *, sizes_are_final: bool = True) -> Model:
    """The model's IR. Raises one Unsupported that lists everything in the model that cannot be converted.

    `sizes_are_final` is False if sizes that the model fixes will be opened later: then no branch is decided by them."""
    proto = loaded.proto.graph
    functions = {(canonical_domain(function.domain), function.name): function for function in loaded.proto.functions}
    context = Context(loaded.folder, functions, sizes_are_final, _value_names(proto), warnings=loaded.warnings)
    builder = GraphBuilder(context, proto.name)
    scope = Scope(loaded.opsets)
    # An initializer that is listed among the inputs too is a default that callers could override; it is taken as fixed.
    fixed = {tensor.name for tensor in proto.initializer} | {sparse.values.name for sparse in proto.sparse_initializer}
    inputs = [info for info in proto.input if info.name not in fixed]
    names = Counter(info.name for info in inputs)
    if names and max(names.values()) > 1:
        raise InvalidModel(f"the input '{names.most_common(1)[0][0]}' is declared twice")
    for name, (dtype, shape) in input_types(inputs, shapes or {}).items():
        scope.values[name] = Value(name, dtype, shape)
        builder.graph.inputs.append(scope.values[name])
    if not proto.output:
        raise InvalidModel("the model has no outputs")
    builder.graph.outputs = builder.lower_body(proto, scope)
    if context.unsupported:
        raise _summary(context.unsupported)
    output_names = [info.name for info in proto.output]
    if len(set(output_names)) != len(output_names):
        raise InvalidModel("two outputs have the same name")
    return Model(builder.graph, {}, output_names)


def _value_names(graph: onnx.GraphProto) -> set[str]:
    """All names that values have, so that new ones keep apart from them."""
    names = {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        names.update(node.output)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                names |= _value_names(attribute.g)
    return names


def _summary(errors: list[Unsupported]) -> Unsupported:
    """One error that lists all."""
    if len(errors) == 1:
        return errors[0]
    groups: dict[tuple[str, str], list[str]] = {}
    for error in errors:
        groups.setdefault((error.op, error.message), []).append(error.node)
    lines = []
    for (op, message), nodes in sorted(groups.items()):
        shown = ", ".join(f"'{name}'" for name in nodes[:5]) + (f" and {len(nodes) - 5} more" if len(nodes) > 5 else "")
        lines.append(f"  {len(nodes)} × {op}: {message} (node{'s' if len(nodes) > 1 else ''} {shown})")
    hints = sorted({error.hint for error in errors if error.hint})
    return Unsupported(
        f"{len(errors)} nodes of the model cannot be converted:\n" + "\n".join(lines),
        hint=" ".join(hints) or "replace these ops in the model, or ask for them in an issue",
    )
