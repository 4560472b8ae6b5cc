"""Graph surgery for passes: adds, moves and removes nodes while an index of readers stays right."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..ir import Dim, Graph, Model, Node, Value, constant


class Rewriter:
    """Changes one graph. Results keep their Value objects, hence their names and shapes; `finish` brings graph.nodes up to date.

    A node may only be placed before a node that read, directly or not, every operand it has: so order stays topological."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._readers: dict[Value, dict[Node, int]] = {}
        self._erased: set[Node] = set()
        self._anchor: dict[Node, Node] = {}
        self._placed_before: dict[Node, list[Node]] = {}
        self._order: dict[Node, float] = {}
        self._outputs = (graph.outputs, set(graph.outputs))
        self._names = {value.name for value in graph.values()}
        for position, node in enumerate(graph.nodes):
            self._order[node] = position
            self._count_operands(node)

    def nodes(self) -> Iterator[Node]:
        """Nodes that were there at the start, in order, less those erased on the way."""
        for node in list(self.graph.nodes):
            if node not in self._erased:
                yield node

    def is_live(self, node: Node) -> bool:
        """Whether the node has not been erased."""
        return node not in self._erased

    def readers(self, value: Value) -> list[Node]:
        """Nodes that read the value, each once, in no particular order."""
        return list(self._readers.get(value, ()))

    def is_output(self, value: Value) -> bool:
        """Whether the value leaves the graph."""
        if self._outputs[0] is not self.graph.outputs:
            self._outputs = (self.graph.outputs, set(self.graph.outputs))
        return value in self._outputs[1]

    def sole_reader(self, value: Value) -> Node | None:
        """The node that alone reads the value, and reads it once; None if there is no such node or the value leaves the graph."""
        counts = self._readers.get(value, {})
        if len(counts) != 1 or self.is_output(value):
            return None
        ((node, count),) = counts.items()
        return node if count == 1 else None

    def stays_within(self, value: Value, nodes: Collection[Node]) -> bool:
        """Whether nobody but these nodes needs the value."""
        return not self.is_output(value) and all(reader in nodes for reader in self._readers.get(value, ()))

    def is_before(self, first: Node, second: Node) -> bool:
        """Whether `first` runs before `second`."""
        return self._order[first] < self._order[second]

    def set_input(self, node: Node, index: int, value: Value | None) -> None:
        """Makes operand `index` of the node this value; operands left out before it are filled with None."""
        inputs = [*node.inputs, *[None] * (index + 1 - len(node.inputs))]
        inputs[index] = value
        self.set_inputs(node, inputs)

    def set_inputs(self, node: Node, inputs: Sequence[Value | None]) -> None:
        """Replaces all operands of a node; producers that nobody needs any longer are erased."""
        old = node.inputs
        node.inputs = list(inputs)
        self._count_operands(node)
        self._release(node, old)

    def replace(self, old: Value, new: Value) -> None:
        """Makes everybody who reads `old` read `new`, the graph's outputs included, and erases what is unneeded then."""
        for node in self.readers(old):
            self.set_inputs(node, [new if value is old else value for value in node.inputs])
        if self.is_output(old):
            self.graph.outputs = [new if value is old else value for value in self.graph.outputs]
        self._erase_if_unread(old)

    def insert(self, node: Node, before: Node) -> Node:
        """Adds a new node in front of another."""
        self._count_operands(node)
        self.move(node, before)
        return node

    def move(self, node: Node, before: Node) -> None:
        """Lets the node run right before another, later one."""
        self._anchor[node] = before
        self._placed_before.setdefault(before, []).append(node)
        self._follow(node, self._order[before] - 0.5)

    def _follow(self, node: Node, order: float) -> None:
        """Notes the node's new place; what was placed before it comes along."""
        self._order[node] = order
        for earlier in self._placed_before.get(node, ()):
            if self._anchor[earlier] is node:
                self._follow(earlier, order - 0.25)

    def absorb(self, node: Node, last: Node) -> None:
        """Lets `node` produce the first result of `last`, which is erased: `node` computes what both did."""
        node.output.producer = None
        node.outputs[0] = last.output
        last.output.producer = node
        self._remove(last)

    def substitute(self, last: Node, new: Node) -> None:
        """Puts a new node, which has the first result of `last` as its own, in the place of `last`."""
        self.insert(new, before=last)
        self._remove(last)

    def make_constant(self, value: Value, array: npt.NDArray[np.generic]) -> None:
        """Turns a computed value into a constant; its producer is erased if nothing else is needed of it."""
        producer = value.producer
        value.constant = np.ascontiguousarray(array).reshape(array.shape)
        value.shape = list(array.shape)
        value.producer = None
        if producer is not None:
            producer.outputs = [None if result is value else result for result in producer.outputs]
            if all(result is None for result in producer.outputs):
                self._remove(producer)
            elif producer.outputs[0] is None:
                producer.outputs[0] = self.value(value.name, value.dtype, value.shape)
                producer.output.producer = producer

    def constant(self, stem: str, array: npt.NDArray[np.generic], dtype: int) -> Value:
        """A new constant, named after `stem`."""
        return constant(self._unique(stem), array, dtype)

    def value(self, stem: str, dtype: int, shape: Sequence[Dim] | None) -> Value:
        """A new value for a node to produce, named after `stem`."""
        return Value(self._unique(stem), dtype, None if shape is None else list(shape))

    def adopt_names(self, values: Iterable[Value]) -> None:
        """Renames values that come from another graph where their names are taken here."""
        for value in values:
            value.name = self._unique(value.name)

    def erase(self, node: Node) -> None:
        """Removes a node whose results nobody reads, and then every producer that nobody needs any longer."""
        assert all(value is None or not self._is_needed(value) for value in node.outputs), (
            f"{node.op} {node.name} is still needed"
        )
        self._remove(node)

    def finish(self) -> None:
        """Brings graph.nodes up to date."""
        nodes: list[Node] = []

        def emit(node: Node) -> None:
            for earlier in self._placed_before.get(node, ()):
                if self._anchor[earlier] is node:
                    emit(earlier)
            if node not in self._erased:
                nodes.append(node)

        for node in self.graph.nodes:
            if node not in self._anchor:
                emit(node)
        self.graph.nodes = nodes

    def _is_needed(self, value: Value) -> bool:
        return bool(self._readers.get(value)) or self.is_output(value)

    def _remove(self, node: Node) -> None:
        self._erased.add(node)
        old, node.inputs = node.inputs, []
        self._release(node, old)

    def _count_operands(self, node: Node) -> None:
        for value in node.inputs:
            if value is not None:
                counts = self._readers.setdefault(value, {})
                counts[node] = counts.get(node, 0) + 1

    def _release(self, node: Node, operands: Sequence[Value | None]) -> None:
        for value in operands:
            if value is not None:
                counts = self._readers[value]
                counts[node] -= 1
                if not counts[node]:
                    del counts[node]
        for value in operands:
            if value is not None:
                self._erase_if_unread(value)

    def _erase_if_unread(self, value: Value) -> None:
        node = value.producer
        if node is not None and node not in self._erased and not any(v is not None and self._is_needed(v) for v in node.outputs):
            self._remove(node)

    def _unique(self, stem: str) -> str:
        name, number = stem, 0
        while name in self._names:
            number += 1
            name = f"{stem}.{number}"
        self._names.add(name)
        return name


def graphs_of(graph: Graph) -> Iterator[Graph]:
    """The graph and, after it, every graph inside its nodes."""
    yield graph
    for node in graph.nodes:
        for _, inner in node.subgraphs():
            yield from graphs_of(inner)


def on_every_graph(rewrite: Callable[[Rewriter], int]) -> Callable[[Model], int]:
    """Makes a pass over models of a function that rewrites one graph and returns how many changes it made."""

    def run(model: Model) -> int:
        changes = 0
        for graph in list(graphs_of(model.graph)):
            rewriter = Rewriter(graph)
            changes += rewrite(rewriter)
            rewriter.finish()
        return changes

    return run
