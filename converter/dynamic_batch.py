"""Opens a batch size that a model fixes: a symbol takes its place, constants follow, and rows are proven independent."""

from __future__ import annotations

from typing import Final

import numpy as np

from jitney.errors import InvalidInput, InvalidModel, Unsupported

from .batch_rules import Batched, Blocked, Kind, Step, axis_of, follow, mentions, product
from .infer import infer_shapes
from .ir import Dim, Graph, Model, Node, Value, constant, symbol

_INT64: Final = 7
Shapes = dict[Value, list[Dim] | None]


def open_batch(model: Model) -> None:
    """Rewrites a lowered model whose types are inferred. Raises Unsupported, naming the node, where rows would mix."""
    graph = model.graph
    fixed: Shapes = {value: None if value.shape is None else [*value.shape] for value in graph.values()}
    name, size, inputs = _batch(graph)
    if not inputs:
        return
    for value in inputs:
        assert value.shape is not None
        value.shape[0] = symbol(name)
    _Opener(graph, name, size, fixed).run()


def _batch(graph: Graph) -> tuple[str, int, list[Value]]:
    """The new symbol, the size that it replaces, and the inputs that have it. No inputs: the batch is open already."""
    ranked = [value for value in graph.inputs if value.shape]
    if not ranked:
        raise InvalidInput("--dynamic-batch needs an input with a first axis")
    size = ranked[0].shape[0] if ranked[0].shape else None
    taken = {
        term for value in graph.inputs for dim in value.shape or [] if not isinstance(dim, int) and dim for term, _ in dim.terms
    }
    name = next(
        candidate
        for candidate in ("N", "batch", *(f"batch_{number}" for number in range(len(taken) + 1)))
        if candidate not in taken
    )
    if not isinstance(size, int):
        return name, 0, []
    return name, size, [value for value in ranked if value.shape and value.shape[0] == size]


class _Opener:
    """Follows the batch through the nodes in order, mending what stands in its way."""

    def __init__(self, graph: Graph, name: str, size: int, fixed: Shapes) -> None:
        self._graph = graph
        self._name = name
        self._size = size
        self._fixed = fixed
        self._kinds: dict[Value, Kind] = {value: Batched(0) if axis_of(value, name) == 0 else None for value in graph.inputs}
        self._mended: set[Node] = set()

    def run(self) -> None:
        position = 0
        while position < len(self._graph.nodes):
            limit = self._infer()
            while position < limit:
                if not self._settle(self._graph.nodes[position]):
                    break
                position += 1
            else:
                if limit < len(self._graph.nodes) and not self._mend(self._graph.nodes[limit]):
                    raise self._blocked(self._graph.nodes[limit], "its shapes need the fixed batch")

    def _infer(self) -> int:
        """Infers the opened graph as far as it holds together; returns the index of the first node that does not."""
        nodes = self._graph.nodes
        try:
            infer_shapes(Model(self._graph))
            return len(nodes)
        except InvalidModel as error:
            broken = next((index for index, node in enumerate(nodes) if node.name == error.node), None)
            if broken is None:
                raise
        part = nodes[:broken]
        results = [result for node in part for result in node.outputs if result is not None]
        infer_shapes(Model(Graph(self._graph.name, self._graph.inputs, results or self._graph.inputs, part)))
        return broken

    def _settle(self, node: Node) -> bool:
        """Notes what the node's results are; False if the node had to be mended, after which types must be inferred again."""
        kinds = [self._kinds.get(value) if value is not None else None for value in node.inputs]
        try:
            results = follow(Step(node, kinds, self._name))
            for value, kind in zip(node.outputs, results, strict=True):
                if value is not None:
                    self._kinds[value] = kind
                    self._check_shape(value)
            return True
        except Blocked as error:
            if self._mend(node):
                return False
            raise self._blocked(node, str(error)) from None

    def _check_shape(self, value: Value) -> None:
        """The result must be what it was, but for the batch."""
        kind, old, new = self._kinds.get(value), self._fixed.get(value), value.shape
        wanted = kind.axis if isinstance(kind, Batched) else None
        if new is None:
            raise Blocked("the shape of its result is not known")
        if wanted is not None and not mentions(new[wanted], self._name):
            raise Blocked(f"axis {wanted} of its result should count rows but has the size {new[wanted]}")
        if old is None:
            return
        for axis, (before, now) in enumerate(zip(old, new, strict=True)):
            if axis != wanted and isinstance(before, int) and now != before:
                raise Blocked(f"axis {axis} of its result, {before} before, has become {now}")
        if wanted is not None and value.producer is not None and value.producer.op in ("reshape", "flatten"):
            natural = self._batch_after_reshape(value.producer)
            if natural is not None and natural != wanted:
                raise Blocked("the batch is baked into its shape")

    def _batch_after_reshape(self, node: Node) -> int | None:
        """The first axis of the result that can be the batch, by the shapes of the fixed model."""
        x = node.inputs[0]
        kind = self._kinds.get(x) if x is not None else None
        old_in, old_out = (self._fixed.get(x) if x is not None else None), self._fixed.get(node.output)
        if not isinstance(kind, Batched) or old_in is None or old_out is None:
            return None
        before = product(old_in[: kind.axis])
        sizes = [product(old_out[:target]) for target in range(len(old_out))]
        fitting = (
            target
            for target, dim in enumerate(old_out)
            if before is not None and sizes[target] == before and isinstance(dim, int) and dim % self._size == 0
        )
        return next(fitting, None)

    def _mend(self, node: Node) -> bool:
        """Rewrites constants of the node that have the batch baked in; False if there is nothing to rewrite."""
        if node in self._mended:
            return False
        self._mended.add(node)
        axis = next(
            (kind.axis for value in node.inputs if value is not None and isinstance(kind := self._kinds.get(value), Batched)),
            None,
        )
        if axis is None:
            return False
        if node.op in ("reshape", "flatten"):
            return self._mend_reshape(node)
        if node.op == "expand":
            return self._mend_expand(node, axis)
        if node.op == "resize":
            return self._mend_resize(node, axis)
        return self._spread_operands(node)

    def _mend_reshape(self, node: Node) -> bool:
        target, old_out = self._batch_after_reshape(node), self._fixed.get(node.output)
        if target is None or old_out is None or not all(isinstance(dim, int) for dim in old_out):
            return False
        sizes = [dim for dim in old_out if isinstance(dim, int)]
        sizes[target] = -1
        node.op, node.attributes = "reshape", {"allow_zero": 0}
        node.inputs = [node.inputs[0], self._int64s(node, sizes)]
        return True

    def _mend_expand(self, node: Node, axis: int) -> bool:
        old_out = self._fixed.get(node.output)
        x = node.inputs[0]
        if old_out is None or x is None or x.shape is None or not all(isinstance(dim, int) for dim in old_out):
            return False
        sizes = [dim for dim in old_out if isinstance(dim, int)]
        # Two-way broadcasting: 1 keeps what the operand has.
        sizes[axis + len(sizes) - len(x.shape)] = 1
        node.inputs = [x, self._int64s(node, sizes)]
        return True

    def _mend_resize(self, node: Node, axis: int) -> bool:
        sizes, axes = node.input(1), node.attributes.get("axes")
        x = node.inputs[0]
        if sizes is None or sizes.constant is None or x is None or x.shape is None or node.input(3) is not None:
            return False
        listed = [int(other) % len(x.shape) for other in axes] if isinstance(axes, list) and axes else list(range(len(x.shape)))
        if axis not in listed:
            return False
        kept = [index for index, other in enumerate(listed) if other != axis]
        node.attributes["axes"] = [listed[index] for index in kept]
        node.inputs = [x, self._int64s(node, [int(sizes.constant[index]) for index in kept])]
        return True

    def _spread_operands(self, node: Node) -> bool:
        """Gives operands that hold the fixed batch, all rows alike, one row; for concat, which does not broadcast, expanded."""
        carrier = next(value for value in node.inputs if value is not None and isinstance(self._kinds.get(value), Batched))
        kind = self._kinds[carrier]
        assert isinstance(kind, Batched) and carrier.shape is not None
        changed = False
        for index, value in enumerate(node.inputs):
            if value is None or self._kinds.get(value) is not None or value.shape is None:
                continue
            axis = kind.axis - len(carrier.shape) + len(value.shape)
            if axis < 0 or value.shape[axis] != self._size or (self._size == 1 and node.op != "concat"):
                continue
            single = self._single_row(node, value, axis)
            if single is None:
                return False
            node.inputs[index] = single if node.op != "concat" else self._expanded(node, single, axis, carrier, kind.axis)
            changed = True
        return changed

    def _single_row(self, node: Node, value: Value, axis: int) -> Value | None:
        if self._size == 1:
            return value
        if value.constant is None:
            return None
        first = value.constant.take([0], axis)
        if not (value.constant == first).all():
            return None
        return constant(self._graph.unique_name(f"{value.name}/row"), first, value.dtype)

    def _expanded(self, node: Node, value: Value, axis: int, carrier: Value, carrier_axis: int) -> Value:
        count = Value(self._graph.unique_name(f"{node.name}/rows"))
        rank = len(value.shape or [])
        nodes = [Node("shape", [carrier], [count], {"start": carrier_axis, "end": carrier_axis + 1}, f"{node.name}/rows")]
        parts = [self._int64s(node, [1] * axis), count, self._int64s(node, [1] * (rank - axis - 1))]
        target = Value(self._graph.unique_name(f"{node.name}/target"))
        nodes.append(Node("concat", [part for part in parts if part.shape != [0]], [target], {"axis": 0}, f"{node.name}/target"))
        result = Value(self._graph.unique_name(f"{value.name}/expanded"))
        nodes.append(Node("expand", [value, target], [result], {}, f"{node.name}/expand"))
        position = self._graph.nodes.index(node)
        self._graph.nodes[position:position] = nodes
        return result

    def _int64s(self, node: Node, numbers: list[int]) -> Value:
        return constant(self._graph.unique_name(f"{node.name}/sizes"), np.asarray(numbers, np.int64), _INT64)

    def _blocked(self, node: Node, reason: str) -> Unsupported:
        return Unsupported(
            f"the batch cannot be opened: {reason}",
            node=node.name,
            op=node.op,
            hint="export the model with a dynamic batch axis, or convert it with the batch that it has",
        )
