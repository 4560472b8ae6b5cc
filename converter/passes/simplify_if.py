"""Puts the branch that is taken in the place of an `if` whose condition is constant; else hands constants to the branches as
their own and drops operands that neither branch reads."""

from __future__ import annotations

from ..ir import Graph, Node, Value
from .rewriter import Rewriter, on_every_graph


def _rewrite(rewriter: Rewriter) -> int:
    changes = 0
    for node in rewriter.nodes():
        if node.op == "if" and node.inputs[0] is not None:
            condition = node.inputs[0].constant
            if condition is not None and condition.size == 1:
                _inline(rewriter, node, _branch(node, "then" if bool(condition.reshape(-1)[0]) else "else"))
                changes += 1
            else:
                changes += _trim_operands(rewriter, node)
    return changes


simplify_if = on_every_graph(_rewrite)


def _branch(node: Node, name: str) -> Graph:
    graph = node.attributes[name]
    assert isinstance(graph, Graph), f"{name} is no graph"
    return graph


def _inline(rewriter: Rewriter, node: Node, graph: Graph) -> None:
    outer = dict(zip(graph.inputs, node.inputs[1:], strict=True))

    def resolved(value: Value | None) -> Value | None:
        return value if value is None else outer.get(value, value)

    inner_inputs = set(graph.inputs)
    rewriter.adopt_names(value for value in graph.values() if value not in inner_inputs)
    for inner in graph.nodes:
        inner.inputs = [resolved(value) for value in inner.inputs]
        rewriter.insert(inner, before=node)
    for old, new in zip(node.outputs, graph.outputs, strict=True):
        result = resolved(new)
        if old is not None and result is not None:
            rewriter.replace(old, result)
    if rewriter.is_live(node):
        rewriter.erase(node)


def _trim_operands(rewriter: Rewriter, node: Node) -> int:
    branches = [_branch(node, name) for name in ("then", "else")]
    read = {value for branch in branches for value in (*branch.outputs, *branch.consumers())}
    kept: list[int] = []
    for index, operand in enumerate(node.inputs[1:]):
        stand_ins = [branch.inputs[index] for branch in branches]
        if operand is not None and operand.constant is not None:
            for stand_in in stand_ins:
                stand_in.constant, stand_in.dtype, stand_in.shape = operand.constant, operand.dtype, operand.shape
        elif any(stand_in in read for stand_in in stand_ins):
            kept.append(index)
    dropped = len(node.inputs) - 1 - len(kept)
    if dropped:
        for branch in branches:
            branch.inputs = [branch.inputs[index] for index in kept]
        rewriter.set_inputs(node, [node.inputs[0], *(node.inputs[1 + index] for index in kept)])
    return dropped
