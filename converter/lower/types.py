"""Tells the type of a value while the graph is still being built, by inferring what was added since the last question."""

from __future__ import annotations

from ..infer import infer_shapes
from ..ir import Graph, Model, Node, Value


class Types:
    """Each node is inferred once, so asking often costs no more than asking at the end."""

    def __init__(self, *, may_never_run: bool = False) -> None:
        """In what `may_never_run`, shapes may contradict each other."""
        self.may_never_run = may_never_run
        self._pending: dict[Node, None] = {}

    def add(self, node: Node) -> None:
        """Tells of a new node, in topological order; or of one that has got another result since."""
        self._pending[node] = None

    def settle(self, value: Value) -> None:
        """Fills in the value's dtype and shape as far as they can be known."""
        if not value.is_constant and not (value.dtype and value.shape is not None):
            self.settle_all()

    def settle_all(self) -> None:
        """Fills in the types of all values."""
        if not self._pending:
            return
        nodes, self._pending = list(self._pending), {}
        made = {id(result) for node in nodes for result in node.outputs}
        operands = {id(operand): operand for node in nodes for operand in node.inputs if operand is not None}
        boundary = [operand for operand in operands.values() if not operand.is_constant and id(operand) not in made]
        results = [result for node in nodes for result in node.outputs if result is not None]
        known = [operand.elements for operand in boundary]
        infer_shapes(Model(Graph("part", boundary, results, nodes), {}, []), may_never_run=self.may_never_run)
        for operand, elements in zip(boundary, known, strict=True):
            operand.elements = elements
