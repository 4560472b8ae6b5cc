"""Builds `loop` nodes: finds shapes that the carried values keep, and closes the body over what it captures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import onnx
from onnx import TensorProto

from ..ir import Attribute, Dim, Value, constant
from .graph import GraphBuilder, Poison, Scope
from .node import OnnxNode

_MOST_ROUNDS: Final = 3
"""Shapes that have not settled by then are taken as unknown."""


@dataclass
class Body:
    """What a loop's body returns."""

    condition: Value
    carried: list[Value]
    gathered: list[Value]

    def values(self) -> list[Value]:
        """The results in the order that `loop` wants."""
        return [self.condition, *self.carried, *self.gathered]


Build = Callable[[GraphBuilder, Value, list[Value]], Body]
"""Fills a builder with the body, given the iteration's number and the carried values."""


def build_loop(
    node: OnnxNode,
    outside: GraphBuilder,
    name: str,
    operands: tuple[Value | None, Value | None],
    initial: Sequence[Value],
    build: Build,
    joined: Sequence[bool] = (),
) -> list[Value]:
    """Adds a loop to the graph `outside`, as a part of lowering `node`. `operands` are trip count and condition.

    `build` may be called more than once: carried values have, at first, the shape that they enter the loop with, then as much of
    it as all iterations keep."""
    context = outside.context
    for value in initial:
        outside.types.settle(value)
    types = [(value.dtype, None if value.shape is None else [*value.shape]) for value in initial]
    state = context.state()
    for round_ in range(_MOST_ROUNDS + 1):
        inner = outside.nested(name, node.scope)
        number = Value(context.fresh(f"{name}/iteration"), int(TensorProto.INT64), [])
        condition = Value(context.fresh(f"{name}/condition"), int(TensorProto.BOOL), [])
        carried = [
            Value(context.fresh(value.name), dtype, None if shape is None else [*shape])
            for value, (dtype, shape) in zip(initial, types, strict=True)
        ]
        body = build(inner, number, carried)
        if any(isinstance(value, Poison) for value in body.values()):
            return [Poison(name) for _ in body.values()[1:]]
        kept = [_kept(node, inner, index, *pair) for index, pair in enumerate(zip(types, body.carried, strict=True))]
        if kept == types:
            break
        types = kept if round_ < _MOST_ROUNDS - 1 else [(dtype, None) for dtype, _ in types]
        context.reset(state)
    inner.graph.inputs = [number, condition, *carried, *inner.captured.values()]
    inner.graph.outputs = body.values()
    attributes: dict[str, Attribute] = {"body": inner.graph, "carried": len(carried)}
    if any(joined):
        attributes["joined"] = [int(flag) for flag in joined]
    inputs = [*operands, *initial, *inner.captured]
    results = outside.emit_results(f"{node.label}/loop", "loop", inputs, [True] * (len(body.values()) - 1), attributes)
    return [result for result in results if result is not None]


def _kept(
    node: OnnxNode, inner: GraphBuilder, index: int, before: tuple[int, list[Dim] | None], after: Value
) -> tuple[int, list[Dim] | None]:
    """What an iteration leaves of a carried value's type."""
    inner.types.settle(after)
    dtype, shape = before
    if after.dtype and dtype and after.dtype != dtype:
        names = [TensorProto.DataType.Name(number) for number in (dtype, after.dtype)]
        raise node.invalid(f"the carried value {index} enters the body as {names[0]} and leaves it as {names[1]}")
    if shape is None or after.shape is None or len(shape) != len(after.shape):
        return dtype, None
    return dtype, [dim if dim == new else None for dim, new in zip(shape, after.shape, strict=True)]


def true(builder: GraphBuilder, name: str) -> Value:
    """The constant condition of a loop that ends by its trip count alone."""
    return constant(builder.context.fresh(f"{name}/true"), np.array(True), int(TensorProto.BOOL))


def check_body(node: OnnxNode, body: onnx.GraphProto, inputs: int, least_outputs: int) -> None:
    most_results = len(body.output) - least_outputs
    if len(body.input) != inputs:
        raise node.invalid(f"its body '{body.name}' has {len(body.input)} inputs, but is given {inputs} values")
    if most_results < 0:
        raise node.invalid(f"its body '{body.name}' has {len(body.output)} results, but must have at least {least_outputs}")
    if node.output_count > len(body.output) - (1 if node.op == "Loop" else 0):
        raise node.invalid(f"has {node.output_count} results, but its body '{body.name}' has {len(body.output)}")
    names = [info.name for info in body.input]
    if len(set(names)) != len(names):
        raise node.invalid(f"two inputs of its body '{body.name}' have the same name")


def lower_body(node: OnnxNode, inner: GraphBuilder, body: onnx.GraphProto, values: Sequence[Value]) -> list[Value]:
    bound = {info.name: value for info, value in zip(body.input, values, strict=True)}
    return inner.lower_body(body, Scope(node.scope.opsets, bound, node.scope.attributes))
