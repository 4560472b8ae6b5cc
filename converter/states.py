"""Declares state: an input that gets, in each run, what an output was in the run before."""

from __future__ import annotations

from collections.abc import Mapping

from jitney.errors import InvalidInput, Unsupported

from .ir import Model, Value, known_shape
from .tensors import dtype_name


def declare_states(model: Model, states: Mapping[str, str] | None) -> None:
    """`states` pairs names of inputs with names of outputs, or the other way round where that leaves no doubt. Types must be
    inferred."""
    if not isinstance(states or {}, Mapping):
        raise InvalidInput(f"states is of type {type(states).__name__}; a dict {{input name: output name}} is wanted")
    inputs, outputs = [value.name for value in model.graph.inputs], model.output_names
    for first, second in (states or {}).items():
        swapped = first not in inputs and first in outputs and second in inputs
        input_name, output_name = (second, first) if swapped else (first, second)
        for name, names, kind in ((input_name, inputs, "input"), (output_name, outputs, "output")):
            if name not in names:
                raise InvalidInput(
                    f"the state {input_name}={output_name} names no {kind} of the model",
                    hint=f"write INPUT=OUTPUT; the model's {kind}s are: {', '.join(names)}",
                )
        pair = (inputs.index(input_name), outputs.index(output_name))
        for position, kind, name in ((0, "input", input_name), (1, "output", output_name)):
            if pair[position] in [known[position] for known in model.graph.states]:
                raise InvalidInput(f"two states have the {kind} '{name}'")
        _check_types(model, *pair)
        model.graph.states.append(pair)


def _example(value: Value) -> str:
    """A --shape that fits the input: open sizes are 1 in it."""
    if value.shape is None:
        return " with --shape"
    return f": --shape {value.name}={','.join(str(dim) if isinstance(dim, int) else '1' for dim in value.shape)}"


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
            hint=f"fix them{_example(before)} (state and --dynamic-batch do not go together)",
        )
    fits = after.shape is None or (
        len(after.shape) == len(shape)
        and all(not isinstance(dim, int) or dim == size for dim, size in zip(after.shape, shape, strict=True))
    )
    if not fits:
        given = [dim if isinstance(dim, int) else str(dim) for dim in after.shape or []]
        raise InvalidInput(f"{name} has the shape {[*shape]}, but its output has {given}")
