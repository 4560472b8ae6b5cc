"""If: branches become closed graphs, which get what they capture as explicit operands; decided ones vanish."""

from __future__ import annotations

from ..ir import Graph, Value
from .graph import GraphBuilder, Poison
from .node import OnnxNode
from .registry import Result, lowers


@lowers("If")
def if_(node: OnnxNode) -> Result:
    decided = _decided(node)
    if decided is not None:
        return node.builder.inline(node.graph("then_branch" if decided else "else_branch"), node.scope)
    branches = [node.builder.subgraph(node.graph(name), node.scope) for name in ("then_branch", "else_branch")]
    for branch in branches:
        if len(branch.graph.outputs) != node.output_count:
            raise node.invalid(
                f"has {node.output_count} results, but its branch '{branch.graph.name}' has {len(branch.graph.outputs)}"
            )
    if any(isinstance(output, Poison) for branch in branches for output in branch.graph.outputs):
        return [Poison(name) for name in node.proto.output]
    captured = list(dict.fromkeys(outer for branch in branches for outer in branch.captured))
    graphs = [_close(branch, captured) for branch in branches]
    wanted = [index == 0 or node.wants(index) for index in range(node.output_count)]
    return node.emit_results("if", [node.operand(0), *captured], wanted, **{"then": graphs[0], "else": graphs[1]})


def _decided(node: OnnxNode) -> bool | None:
    """The condition, where it is known; then the other branch need not even be convertible."""
    condition = node.operand(0)
    if condition.constant is not None:
        return bool(condition.constant.any())
    if not node.builder.context.sizes_are_final:
        return None
    node.shape(condition)
    if condition.elements is None or len(condition.elements) != 1 or not isinstance(condition.elements[0], int):
        return None
    return bool(condition.elements[0])


def _close(branch: GraphBuilder, captured: list[Value]) -> Graph:
    """Gives the branch all values that either branch captures as inputs, in the same order."""
    branch.graph.inputs = [branch.capture(outer) for outer in captured]
    return branch.graph
