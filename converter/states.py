"""Declares state: an input that gets, in each run, what an output was in the run before."""

from __future__ import annotations

from collections.abc import Mapping

from jitney.errors import InvalidInput, Unsupported

from .ir import Model, known_shape
from .tensors import dtype_name


def declare_states(model: Model, states: Mapping[str, str] | None) -> None:
    """`states` pairs names of inputs with names of outputs. Types must be inferred."""
    if not isinstance(states or {}, Mapping):
        raise InvalidInput(f"states is a {type(states).__name__}; a dict {{input name: output name}} is wanted")
    inputs, outputs = [value.name for value in model.graph.inputs], model.output_names
    for input_name, output_name in (states or {}).items():
        for name, names, kind in ((input_name, inputs, "input"), (output_name, outputs, "output")):
            if name not in names:
                raise InvalidInput(
                    f"the state {input_name}={output_name} names no {kind} of the model",
                    hint=f"write INPUT=OUTPUT; the model's {kind}s are: {', '.join(names)}",
                )
        pair = (inputs.index(input_name), outputs.index(output_name))
        if pair[1] in [output for _, output in model.graph.states]:
            raise InvalidInput(f"two states become of the output '{output_name}'")
        _check_types(model, *pair)
        model.graph.states.append(pair)


def _check_types(model: Model, input_index: int, output_index: int) -> None:
    before, after = model.graph.inputs[input_index], model.graph.outputs[output_index]
    name = f"the state '{before.name}'"
    if before.dtype != after.dtype:
        raise InvalidInput(f"{name} is {dtype_name(before.dtype)}, but its output is {dtype_name(after.dtype)}")
    shape = known_shape(before)
    if shape is None:
        dims = "any shape" if before.shape is None else ", ".join("?" if dim is None else str(dim) for dim in before.shape)
        raise Unsupported(
            f"{name} has open sizes ({dims}), so that it cannot be kept between runs",
            hint=f"fix them: --shape {before.name}=1,128 (state and --dynamic-batch do not go together)",
        )
    fits = after.shape is None or (
        len(after.shape) == len(shape)
        and all(not isinstance(dim, int) or dim == size for dim, size in zip(after.shape, shape, strict=True))
    )
    if not fits:
        given = [dim if isinstance(dim, int) else str(dim) for dim in after.shape or []]
        raise InvalidInput(f"{name} has the shape {[*shape]}, but its output has {given}")
