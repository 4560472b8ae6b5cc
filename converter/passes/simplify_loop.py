"""Hands constants to the bodies of loops as their own, captures what is carried unchanged, and drops what nobody reads."""

from __future__ import annotations

from ..ir import Graph, Node, Value
from .facts import integer, integer_list
from .rewriter import Rewriter, on_every_graph

_CARRIED = 2
"""The first operand that is carried, and the input of the body that stands for it."""


def _rewrite(rewriter: Rewriter) -> int:
    return sum(_simplify(rewriter, node) for node in rewriter.nodes() if node.op == "loop")


simplify_loop = on_every_graph(_rewrite)


def _simplify(rewriter: Rewriter, node: Node) -> int:
    changes = _drop_gathered(rewriter, node) + _drop_carried(rewriter, node) + _capture_unchanged(rewriter, node)
    return changes + _trim_captured(rewriter, node) if rewriter.is_live(node) else changes


def _body(node: Node) -> Graph:
    graph = node.attributes["body"]
    assert isinstance(graph, Graph), "body is no graph"
    return graph


def _is_read(rewriter: Rewriter, value: Value | None) -> bool:
    return value is not None and (bool(rewriter.readers(value)) or rewriter.is_output(value))


def _drop_gathered(rewriter: Rewriter, node: Node) -> int:
    body, carried = _body(node), integer(node, "carried")
    unread = [index for index in range(carried, len(node.outputs)) if not _is_read(rewriter, node.outputs[index])]
    flags = [flag for index, flag in enumerate(integer_list(node, "joined")) if carried + index not in unread]
    if any(flags):
        node.attributes["joined"] = flags
    else:
        node.attributes.pop("joined", None)
    for index in reversed(unread):
        del node.outputs[index]
        del body.outputs[1 + index]
    return len(unread)


def _drop_carried(rewriter: Rewriter, node: Node) -> int:
    """Removes values that nothing depends on but what becomes of themselves."""
    carried = integer(node, "carried")
    body = _body(node)
    needed = {index for index in range(carried) if _is_read(rewriter, node.outputs[index])}
    while True:
        roots = [body.outputs[0], *(body.outputs[1 + index] for index in needed), *body.outputs[1 + carried :]]
        read = _depends_on(roots)
        more = {index for index in range(carried) if body.inputs[_CARRIED + index] in read} - needed
        if not more:
            break
        needed |= more
    for index in reversed(range(carried)):
        if index not in needed:
            _remove_carried(node, index)
            rewriter.set_inputs(node, _without(node, _CARRIED + index))
            del body.inputs[_CARRIED + index]
    if len(needed) < carried:
        wanted = _depends_on(body.outputs)
        body.nodes = [each for each in body.nodes if any(value in wanted for value in each.outputs)]
    return carried - len(needed)


def _depends_on(values: list[Value]) -> set[Value]:
    """These values and all that they are computed from."""
    found: set[Value] = set()
    stack = [*values]
    while stack:
        value = stack.pop()
        if value not in found:
            found.add(value)
            operands = value.producer.inputs if value.producer is not None else []
            stack += [operand for operand in operands if operand is not None]
    return found


def _capture_unchanged(rewriter: Rewriter, node: Node) -> int:
    """A value that every iteration returns as it was is not carried but captured, and the loop returns what it got."""
    changes = 0
    for index in reversed(range(integer(node, "carried"))):
        body = _body(node)
        value, initial, result = body.inputs[_CARRIED + index], node.inputs[_CARRIED + index], node.outputs[index]
        if body.outputs[1 + index] is not value or initial is None:
            continue
        if result is not None:
            # Before the loop's operands change: the readers of its result become readers of what it got.
            rewriter.replace(result, initial)
            if not rewriter.is_live(node):
                return changes + 1
        _remove_carried(node, index)
        body.inputs.append(body.inputs.pop(_CARRIED + index))
        rewriter.set_inputs(node, [*_without(node, _CARRIED + index), initial])
        changes += 1
    return changes


def _remove_carried(node: Node, index: int) -> None:
    result = node.outputs.pop(index)
    if result is not None:
        result.producer = None
    del _body(node).outputs[1 + index]
    node.attributes["carried"] = integer(node, "carried") - 1


def _without(node: Node, operand: int) -> list[Value | None]:
    return [value for index, value in enumerate(node.inputs) if index != operand]


def _trim_captured(rewriter: Rewriter, node: Node) -> int:
    body, start = _body(node), _CARRIED + integer(node, "carried")
    read = {*body.outputs, *body.consumers()}
    kept: list[int] = []
    for index in range(start, len(body.inputs)):
        operand, stand_in = node.inputs[index], body.inputs[index]
        if operand is not None and operand.constant is not None:
            stand_in.constant, stand_in.dtype, stand_in.shape = operand.constant, operand.dtype, operand.shape
        elif stand_in in read:
            kept.append(index)
    dropped = len(body.inputs) - start - len(kept)
    if dropped:
        rewriter.set_inputs(node, [*node.inputs[:start], *(node.inputs[index] for index in kept)])
        body.inputs = [*body.inputs[:start], *(body.inputs[index] for index in kept)]
    return dropped
