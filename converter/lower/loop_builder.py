"""Builds loops: short ones of fixed length are unrolled, others become `loop` nodes with bodies closed over what they capture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import onnx
from onnx import TensorProto

from ..ir import Attribute, Dim, Node, Value, constant
from .compound import CarriedHead, Element, OptionalValue, Run, SequenceValue, join, move_axis, rank_of, stack
from .context import Poison, Scope
from .graph import GraphBuilder, is_poisoned
from .node import OnnxNode

_MOST_ROUNDS: Final = 3
"""Shapes that have not settled by then are taken as unknown."""
_MOST_REPEATED: Final = 4000
"""Nodes of bodies that one conversion lowers again to find shapes that settle; beyond, nothing is taken to be known of them."""
_MOST_UNROLLED: Final = 256
"""Nodes that one loop may become. Unrolling leaves nothing to decide at run time, so that all that follows is planned at once."""
_MOST_UNROLLED_WITH_SEQUENCES: Final = 4096
"""The same for loops that carry a sequence, which may not be possible otherwise."""
_MOST_UNROLLED_IN_ALL: Final = 16384


@dataclass
class Body:
    """What a loop's body returns."""

    condition: Value
    carried: list[Value]
    gathered: list[Value]

    @property
    def values(self) -> list[Value]:
        """The results in the order that `loop` wants."""
        return [self.condition, *self.carried, *self.gathered]


@dataclass
class Inside:
    """Where a body is built: in a graph of its own, or, once for each iteration, in the graph around the loop."""

    builder: GraphBuilder
    number: Value
    """The iteration's."""
    carried: list[Value]
    outer: Scope | None = None
    """Where names are looked for, in an unrolled loop."""

    def take(self, value: Value) -> Value:
        """A value of the graph around the loop."""
        return value if self.outer is not None else self.builder.capture(value)

    def lower(self, node: OnnxNode, body: onnx.GraphProto, values: Sequence[Value]) -> list[Value]:
        """Lowers an ONNX graph with these inputs."""
        bound = {info.name: value for info, value in zip(body.input, values, strict=True)}
        # Names inside an unrolled body mean nothing outside: they are there several times.
        scope = Scope(node.scope.opsets, bound, node.scope.attributes, self.outer is not None, self.outer)
        return self.builder.lower_body(body, scope)


@dataclass
class Frame:
    """A loop and its surroundings."""

    node: OnnxNode
    """The ONNX node that is being lowered."""
    outside: GraphBuilder
    scope: Scope
    """Names of the graph around the loop."""
    name: str
    trips: Value | None
    condition: Value | None
    initial: Sequence[Value]
    body: onnx.GraphProto
    ends_early: bool
    """Whether the body's condition can become false."""


Build: TypeAlias = Callable[[Inside], Body]


def build_loop(frame: Frame, build: Build) -> list[Value]:
    """Adds a loop to the graph around it. `build` may be called several times: for each iteration of an unrolled loop; or, as
    carried values have, at first, the shape that they enter the loop with, then as much of it as all iterations keep."""
    times = _times_to_unroll(frame)
    if times is not None:
        return _unroll(frame, build, times)
    if any(isinstance(value, OptionalValue) for value in frame.initial):
        raise frame.node.unsupported("an optional value cannot be carried by a loop")
    outside, context = frame.outside, frame.outside.context
    for value in frame.initial:
        outside.types.settle(value)
    types = [(value.dtype, None if value.shape is None else [*value.shape]) for value in frame.initial]
    if context.repeated > _MOST_REPEATED:
        types = [(dtype, None) for dtype, _ in types]
    state = context.state()
    for round_ in range(_MOST_ROUNDS + 1):
        inner = outside.nested(frame.name, frame.scope)
        number = Value(context.fresh(f"{frame.name}/iteration"), int(TensorProto.INT64), [])
        condition = Value(context.fresh(f"{frame.name}/condition"), int(TensorProto.BOOL), [])
        carried = [_stand_in(frame, inner, *pair) for pair in zip(frame.initial, types, strict=True)]
        body = build(Inside(inner, number, carried))
        if any(is_poisoned(value) for value in body.values):
            return [Poison(name) for name in frame.node.proto.output]
        kept = [_kept(frame, inner, *rest) for rest in zip(range(len(types)), types, frame.initial, body.carried, strict=True)]
        if kept == types:
            break
        types = kept if round_ < _MOST_ROUNDS - 1 else [(dtype, None) for dtype, _ in types]
        context.reset(state)
        context.repeated += _size(frame.body)
    if any(isinstance(value, (SequenceValue, OptionalValue)) for value in body.gathered):
        raise frame.node.unsupported("gathers sequences or optional values; only tensors can be gathered")

    tensors = [index for index, value in enumerate(frame.initial) if not isinstance(value, SequenceValue)]
    inner.graph.inputs = [number, condition, *(carried[index] for index in tensors), *inner.captured.values()]
    inner.graph.outputs = [body.condition, *(body.carried[index] for index in tensors), *body.gathered]
    inputs = [frame.trips, frame.condition, *(frame.initial[index] for index in tensors), *inner.captured]
    attributes: dict[str, Attribute] = {"body": inner.graph, "carried": len(tensors)}
    count = len(inner.graph.outputs) - 1
    results = [
        result
        for result in outside.emit_results(f"{frame.node.label}/loop", "loop", inputs, [True] * count, attributes)
        if result is not None
    ]
    returned: list[Value] = [*frame.initial]
    for index, result in zip(tensors, results, strict=False):
        returned[index] = result
    node = outside.graph.nodes[-1]
    for index, value in enumerate(frame.initial):
        if isinstance(value, SequenceValue):
            returned[index] = _sequence_after(frame, node, inner, value, body.carried[index])
    return returned + results[len(tensors) :]


def _stand_in(frame: Frame, inner: GraphBuilder, initial: Value, type_: tuple[int, list[Dim] | None]) -> Value:
    """What the body gets for a carried value."""
    if isinstance(initial, SequenceValue):

        def expand() -> list[Element]:
            captured = inner.capture(initial)
            assert isinstance(captured, SequenceValue)
            return captured.listed()

        return SequenceValue(initial.name, initial.dtype, items=[CarriedHead(expand)])
    dtype, shape = type_
    return Value(inner.context.fresh(initial.name), dtype, None if shape is None else [*shape])


def _kept(
    frame: Frame, inner: GraphBuilder, index: int, before: tuple[int, list[Dim] | None], initial: Value, after: Value
) -> tuple[int, list[Dim] | None]:
    """What an iteration leaves of a carried value's type."""
    if isinstance(initial, SequenceValue) != isinstance(after, SequenceValue) or isinstance(after, OptionalValue):
        raise frame.node.invalid(f"the carried value {index} enters the body as something else than it leaves it")
    inner.types.settle(after)
    dtype, shape = before
    if after.dtype and dtype and after.dtype != dtype:
        names = [TensorProto.DataType.Name(number) for number in (dtype, after.dtype)]
        raise frame.node.invalid(f"the carried value {index} enters the body as {names[0]} and leaves it as {names[1]}")
    if shape is None or after.shape is None or len(shape) != len(after.shape):
        return dtype, None
    return dtype, [dim if dim == new else None for dim, new in zip(shape, after.shape, strict=True)]


def _loop_run(frame: Frame, node: Node, inner: GraphBuilder, items: list[Element]) -> Run:
    """What the iterations of a loop append to a sequence. The loop gathers it once it is known in which way it is wanted."""
    label = f"{frame.node.label}/sequence"
    made: dict[int | None, Value] = {}

    def stacked() -> Value:
        if None not in made:
            if len(items) == 1 and isinstance(items[0], Value):
                made[None] = _gather(frame, node, inner, items[0], joined=False)
            else:
                made[None] = _gather(frame, node, inner, stack(inner, label, items), joined=True)
        return made[None]

    def joined(axis: int) -> Value:
        if axis not in made:
            rank = rank_of(inner, items) or 1
            element = join(inner, label, items, axis)
            gathered = _gather(frame, node, inner, move_axis(inner, label, element, rank, axis, 0), joined=True)
            made[axis] = move_axis(frame.outside, label, gathered, rank, 0, axis)
        return made[axis]

    return Run(lambda: rank_of(inner, items), stacked, joined)


def _gather(frame: Frame, node: Node, inner: GraphBuilder, element: Value, *, joined: bool) -> Value:
    """Adds a result to a finished loop."""
    carried = node.attributes["carried"]
    assert isinstance(carried, int)
    known = node.attributes.get("joined") or [0] * (len(node.outputs) - carried)
    assert isinstance(known, list)
    node.attributes["joined"] = [*(int(flag) for flag in known), int(joined)]
    graph, start = inner.graph, 2 + carried
    graph.outputs.append(element)
    # Building the element may have captured more.
    graph.inputs = [*graph.inputs[:start], *inner.captured.values()]
    node.inputs = [*node.inputs[:start], *[None] * (start - len(node.inputs)), *inner.captured]
    result = frame.outside.result(f"{frame.node.label}/gathered")
    result.producer = node
    node.outputs.append(result)
    frame.outside.types.add(node)
    return result


def _sequence_after(frame: Frame, node: Node, inner: GraphBuilder, initial: SequenceValue, after: Value) -> SequenceValue:
    assert isinstance(after, SequenceValue)
    head = after.items[0] if after.items else None
    if not isinstance(head, CarriedHead) or (head.was_read and len(after.items) > 1):
        raise frame.node.unsupported(
            "its body changes a sequence in other ways than by appending to it, or reads the sequence that it appends to",
            hint="a fixed trip count (fixed input sizes: --shape NAME=1,3,224,224) lets the loop be unrolled",
        )
    added = [item for item in after.items[1:] if not isinstance(item, CarriedHead)]
    if not added:
        return initial
    return SequenceValue(initial.name, after.dtype or initial.dtype, items=[*initial.items, _loop_run(frame, node, inner, added)])


def _times_to_unroll(frame: Frame) -> int | None:
    """The number of iterations of a loop that is to be unrolled."""
    context = frame.outside.context
    if frame.ends_early or frame.trips is None:
        return None
    if frame.condition is not None and not (frame.condition.constant is not None and frame.condition.constant.any()):
        return None
    trips = known_integer(frame.outside, frame.trips)
    if trips is None:
        return None
    size = max(trips, 0) * _size(frame.body)
    sequences = any(isinstance(value, SequenceValue) for value in frame.initial)
    most = min(_MOST_UNROLLED_WITH_SEQUENCES if sequences else _MOST_UNROLLED, _MOST_UNROLLED_IN_ALL - context.unrolled)
    gathers = len(frame.body.output) > len(frame.initial) + (1 if frame.node.op == "Loop" else 0)
    if size > most or (trips <= 0 and gathers):
        return None
    context.unrolled += size
    return max(trips, 0)


def _size(graph: onnx.GraphProto) -> int:
    """Nodes, those of subgraphs included."""
    inner = sum(_size(attribute.g) for node in graph.node for attribute in node.attribute if attribute.HasField("g"))
    return max(1, len(graph.node)) + inner


def known_integer(builder: GraphBuilder, value: Value) -> int | None:
    """The one element of an integer tensor, if it is known now."""
    if value.constant is not None:
        return int(value.constant.reshape(-1)[0]) if value.constant.size == 1 else None
    if not builder.context.sizes_are_final:
        return None
    builder.types.settle(value)
    elements = value.elements
    return elements[0] if elements is not None and len(elements) == 1 and isinstance(elements[0], int) else None


def _unroll(frame: Frame, build: Build, times: int) -> list[Value]:
    carried, gathered = [*frame.initial], list[list[Value]]()
    for number in range(times):
        body = build(Inside(frame.outside, frame.node.int64s(number), carried, frame.scope))
        if any(is_poisoned(value) for value in body.values):
            return [Poison(name) for name in frame.node.proto.output]
        carried = body.carried
        gathered.append(body.gathered)
    return carried + [stack(frame.outside, frame.node.label, elements) for elements in zip(*gathered, strict=True)]


def true(builder: GraphBuilder, name: str) -> Value:
    """The constant condition of a loop that ends by its trip count alone."""
    return constant(builder.context.fresh(f"{name}/true"), np.array(True), int(TensorProto.BOOL))


def check_body(node: OnnxNode, body: onnx.GraphProto, inputs: int, least_outputs: int) -> None:
    """Raises unless the body has so many inputs, and results for all that the node returns."""
    if len(body.input) != inputs:
        raise node.invalid(f"its body '{body.name}' has {len(body.input)} inputs, but is given {inputs} values")
    if len(body.output) < least_outputs:
        raise node.invalid(f"its body '{body.name}' has {len(body.output)} results, but must have at least {least_outputs}")
    if node.output_count > len(body.output) - (1 if node.op == "Loop" else 0):
        raise node.invalid(f"has {node.output_count} results, but its body '{body.name}' has {len(body.output)}")
    names = [info.name for info in body.input]
    if len(set(names)) != len(names):
        raise node.invalid(f"two inputs of its body '{body.name}' have the same name")
