"""If: branches become closed graphs, which get what they capture as explicit operands; decided ones vanish."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from ..ir import Graph, Value
from .compound import CarriedHead, Element, Item, OptionalValue, SequenceValue, stack, tensor_run
from .context import Poison
from .graph import GraphBuilder, is_poisoned
from .node import OnnxNode
from .registry import Result, lowers

Merged: TypeAlias = tuple[list[list[Value]], Callable[[Sequence[Value | None]], Value | None]]
"""The tensors that each branch returns, and what the results of the `if` stand for."""


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
    if any(is_poisoned(output) for branch in branches for output in branch.graph.outputs):
        return [Poison(name) for name in node.proto.output]
    pairs = zip(*(branch.graph.outputs for branch in branches), strict=True)
    merged = [_merge(node, branches, then, otherwise) for then, otherwise in pairs]
    for side, branch in enumerate(branches):
        branch.graph.outputs = [value for tensors, _ in merged for value in tensors[side]]
    captured = list(dict.fromkeys(outer for branch in branches for outer in branch.captured))
    graphs = [_close(branch, captured) for branch in branches]
    wanted = [node.wants(index) for index, (tensors, _) in enumerate(merged) for _ in tensors[0]]
    wanted[:1] = [True] * len(wanted[:1])
    results = node.emit_results("if", [node.operand(0), *captured], wanted, **{"then": graphs[0], "else": graphs[1]})
    taken = iter(results)
    return [rebuild([next(taken) for _ in tensors[0]]) for tensors, rebuild in merged]


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


def _merge(node: OnnxNode, branches: Sequence[GraphBuilder], then: Value, otherwise: Value) -> Merged:
    if isinstance(then, SequenceValue) and isinstance(otherwise, SequenceValue):
        return _merge_sequences(node, branches, then, otherwise)
    if isinstance(then, OptionalValue) and isinstance(otherwise, OptionalValue):
        if then.element is not None and otherwise.element is not None:
            tensors, rebuild = _merge(node, branches, then.element, otherwise.element)
            return tensors, lambda results: OptionalValue(node.label, then.dtype, element=rebuild(results))
        if then.element is not otherwise.element:
            raise node.unsupported("whether its optional result holds a value is known at run time only")
        return [[], []], lambda results: OptionalValue(node.label, then.dtype)
    if any(isinstance(value, (SequenceValue, OptionalValue)) for value in (then, otherwise)):
        raise node.invalid("its branches return results of different kinds")
    return [[then], [otherwise]], lambda results: results[0]


def _merge_sequences(node: OnnxNode, branches: Sequence[GraphBuilder], then: SequenceValue, otherwise: SequenceValue) -> Merged:
    head = _common_head(then, otherwise)
    start: list[Item] = [] if head is None else [head]
    lists = [_after_head(sequence) if start else sequence.listed() for sequence in (then, otherwise)]
    tensors = [[element for element in elements if isinstance(element, Value)] for elements in lists]
    if [len(found) for found in tensors] == [len(elements) for elements in lists] and len(lists[0]) == len(lists[1]):

        def listed(results: Sequence[Value | None]) -> Value:
            items = [result for result in results if result is not None]
            return SequenceValue(node.label, then.dtype or otherwise.dtype, items=[*start, *items])

        return tensors, listed
    stacks = [stack(branch, node.label, elements) if elements else None for branch, elements in zip(branches, lists, strict=True)]
    for side, other in ((0, 1), (1, 0)):
        if stacks[side] is None:
            stacks[side] = _none_like(node, branches[other], stacks[other])

    def as_run(results: Sequence[Value | None]) -> Value:
        assert results[0] is not None
        run = tensor_run(node.builder, node.label, results[0])
        return SequenceValue(node.label, then.dtype or otherwise.dtype, items=[*start, run])

    return [[value] for value in stacks if value is not None], as_run


def _common_head(then: SequenceValue, otherwise: SequenceValue) -> CarriedHead | None:
    """What a loop carries, if both branches only append to it."""
    heads = [sequence.items[0] if sequence.items else None for sequence in (then, otherwise)]
    outer = [head.outer if isinstance(head, CarriedHead) else None for head in heads]
    return outer[0] if outer[0] is outer[1] else None


def _after_head(sequence: SequenceValue) -> list[Element]:
    return [item for item in sequence.items if not isinstance(item, CarriedHead)]


def _none_like(node: OnnxNode, builder: GraphBuilder, stacked: Value | None) -> Value:
    """No tensors, where the other branch has some. Sizes that are not known do not matter, as there are no elements."""
    assert stacked is not None
    builder.types.settle(stacked)
    if stacked.shape is None or not stacked.dtype:
        raise node.unsupported("the rank of the tensors in its sequences cannot be told")
    sizes = [dim if isinstance(dim, int) else 0 for dim in stacked.shape[1:]]
    return node.constant(np.zeros([0, *sizes], np.float32), stacked.dtype)
