"""Sorts a graph's nodes so that each comes after what it reads."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import onnx

from jitney.errors import InvalidModel

from ..load import canonical_domain
from .context import Scope
from .problems import explain, origin_of


def in_order(nodes: Sequence[onnx.NodeProto], scope: Scope) -> list[onnx.NodeProto]:
    """The nodes in topological order; nearly always that is the order they are in."""
    known = scope.values
    makers = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    reads = [_reads(node) for node in nodes]
    if all(makers.get(name, -1) < index for index, names in enumerate(reads) for name in names if name not in known):
        return list(nodes)
    ordered: list[onnx.NodeProto] = []
    state = [0] * len(nodes)  # 0: not seen, 1: its operands are being placed, 2: placed
    for start in range(len(nodes)):
        stack = [start]
        while stack:
            index = stack[-1]
            waiting = [makers[name] for name in reads[index] if name in makers and name not in known and state[makers[name]] != 2]
            if state[index] == 2:
                stack.pop()
            elif not waiting:
                state[index] = 2
                ordered.append(nodes[index])
                stack.pop()
            elif state[index] == 1 and any(state[other] == 1 for other in waiting):
                node, domain = nodes[index], canonical_domain(nodes[index].domain)
                error = InvalidModel("the graph has a cycle")
                explain(error, origin_of(node.name, node, domain, scope.opsets, functools.partial(list, node.input)))
                raise error
            else:
                state[index] = 1
                stack += waiting
    return ordered


def _reads(node: onnx.NodeProto) -> set[str]:
    """Names that the node reads, also inside its subgraphs."""
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
            inner = {name for child in graph.node for name in _reads(child)} | {info.name for info in graph.output}
            made = {name for child in graph.node for name in child.output}
            made |= {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
            names |= inner - made
    return names
