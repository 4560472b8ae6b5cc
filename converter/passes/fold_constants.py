"""Replaces by constants what does not depend on the inputs: results known from shape inference, and results of nodes whose
operands are all constant, which the runtime itself computes with its portable kernels (so files are the same everywhere)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from onnx import TensorProto

from jitney import _core
from jitney.errors import Error

from ..infer import infer_shapes
from ..ir import Graph, Model, Node, Value, known_shape
from ..write import serialise
from .facts import Array, integers, numpy_dtype
from .rewriter import Rewriter, on_every_graph

_SMALL_BYTES: Final = 4096
_PRODUCTS: Final = {"matmul", "conv", "conv_transpose"}
_GROWTH: Final = 2
"""A result beyond _SMALL_BYTES stays computed if it is more than this many times larger than the constants that it replaces."""
_MOST_PRODUCTS: Final = 1 << 29
"""Multiplications that one round may cost: the portable kernels do some 10⁹ in a second."""
_WORK_BYTES: Final = 1 << 26
"""No intermediate of a folded chain may be larger than this, or than 16 times the constants that it comes from."""


def fold_constants(model: Model) -> int:
    """Folds until nothing changes: a folded shape may tell inference the size of what comes after it."""
    total = 0
    while changes := _fold_all_graphs(model):
        total += changes
        infer_shapes(model)
    return total


def _rewrite(rewriter: Rewriter) -> int:
    return _use_known_elements(rewriter) + _compute(rewriter)


_fold_all_graphs = on_every_graph(_rewrite)


def _use_known_elements(rewriter: Rewriter) -> int:
    """Results whose elements inference knows, such as shapes, need not be computed."""
    changes = 0
    for node in rewriter.nodes():
        for value in list(node.outputs):
            # A first result stays, unread, where others are needed.
            if value is None or rewriter.stays_within(value, ()):
                continue
            elements = integers(value)
            if elements is not None and (shape := known_shape(value)) is not None and value.dtype:
                rewriter.make_constant(value, np.array(elements, np.int64).astype(numpy_dtype(value.dtype)).reshape(shape))
                changes += 1
    return changes


def _compute(rewriter: Rewriter) -> int:
    sources: dict[Value, frozenset[Value]] = {}
    candidates: list[Node] = []
    room = float(_MOST_PRODUCTS)
    for node in rewriter.nodes():
        if _may_fold(node, sources) and _products(node) <= room:
            room -= _products(node)
            candidates.append(node)
            for value in node.outputs:
                if value is not None:
                    sources[value] = _sources(node.inputs, sources)
    wanted = _choose(rewriter, candidates, sources)
    computed = _run(wanted)
    for value, array in computed.items():
        rewriter.make_constant(value, array)
    return len(computed)


def _may_fold(node: Node, sources: dict[Value, frozenset[Value]]) -> bool:
    """Whether the node's results depend on constants only and can be computed now at a reasonable cost."""
    if any(value is not None and not value.is_constant and value not in sources for value in node.inputs):
        return False
    schema = _core.op_schema(node.op)
    if not schema["pure"] or any(True for _ in node.subgraphs()):
        return False
    if any(value is not None and value.dtype == TensorProto.STRING for value in (*node.inputs, *node.outputs)):
        return False
    limit = max(_WORK_BYTES, 16 * _bytes(_sources(node.inputs, sources)))
    return all(value is None or schema["data_dependent"] or _size(value) <= limit for value in node.outputs)


def _products(node: Node) -> float:
    """How many multiplications a product or convolution takes; 0 for other ops."""
    result = known_shape(node.output) if node.op in _PRODUCTS and node.outputs else None
    second = known_shape(node.inputs[1]) if len(node.inputs) > 1 and node.inputs[1] is not None else None
    if result is None or not second:
        return 0
    columns = second[0] if node.op == "conv" or node.attributes.get("trans_b") else second[-1]
    return math.prod(result) * math.prod(second) / max(columns * (math.prod(second[:-2]) if node.op == "matmul" else 1), 1)


def _sources(operands: Iterable[Value | None], sources: dict[Value, frozenset[Value]]) -> frozenset[Value]:
    """The constants of the graph that these operands come from."""
    found: set[Value] = set()
    for value in operands:
        if value is not None:
            found |= {value} if value.is_constant else sources[value]
    return frozenset(found)


def _choose(rewriter: Rewriter, candidates: Sequence[Node], sources: dict[Value, frozenset[Value]]) -> list[Value]:
    """The results to put into the file: those that nodes which stay need, as far as that does not make the file much larger."""
    folded = set(candidates)
    wanted: list[Value] = []
    for node in reversed(candidates):
        needed = [value for value in node.outputs if value is not None and not rewriter.stays_within(value, folded)]
        if not needed:
            continue
        vanishing = _bytes(value for value in _sources(node.inputs, sources) if rewriter.stays_within(value, folded))
        size = sum(0 if _size(value) == math.inf else _size(value) for value in needed)
        if size > _SMALL_BYTES and size > _GROWTH * vanishing:
            folded.remove(node)
        else:
            wanted += needed
    return wanted[::-1]


def _size(value: Value) -> float:
    """Bytes of a value, infinite if its shape is unknown."""
    if value.constant is not None:
        return value.constant.nbytes
    shape = known_shape(value)
    return math.inf if shape is None or not value.dtype else math.prod(shape) * numpy_dtype(value.dtype).itemsize


def _bytes(constants: Iterable[Value]) -> int:
    return sum(value.constant.nbytes for value in constants if value.constant is not None)


def _run(wanted: Sequence[Value]) -> dict[Value, Array]:
    """Computes the values. If that fails as a whole, every value is tried alone: a node that cannot be computed stays in the
    graph, and complains when it is run (it may lie in a branch that never is)."""
    if not wanted:
        return {}
    try:
        return _run_together(wanted)
    except Error:
        if len(wanted) == 1:
            return {}
        results: dict[Value, Array] = {}
        for value in wanted:
            results |= _run([value])
        return results


def _run_together(wanted: Sequence[Value]) -> dict[Value, Array]:
    names = [f"result{index}" for index in range(len(wanted))]
    model = Model(Graph("constants", [], list(wanted), _nodes_for(wanted)), {}, names)
    session = _core.Session(_core.Model.from_bytes(serialise(model)), backend="reference", threads=1)
    results = session.run({})
    return {value: _typed(results[name], value) for name, value in zip(names, wanted, strict=True)}


def _typed(array: Array, value: Value) -> Array:
    """The array with the element type of the value: types that NumPy lacks arrive as unsigned integers of the same width."""
    dtype = numpy_dtype(value.dtype)
    return array if array.dtype == dtype else array.view(dtype)


def _nodes_for(values: Sequence[Value]) -> list[Node]:
    """The nodes that compute these values from constants, in topological order. They are the graph's own and not changed."""
    nodes: dict[Node, None] = {}
    stack = [(value.producer, False) for value in reversed(values) if value.producer is not None]
    while stack:
        node, operands_done = stack.pop()
        if operands_done:
            nodes[node] = None
        elif node not in nodes:
            stack.append((node, True))
            stack += [(value.producer, False) for value in node.inputs if value is not None and value.producer is not None]
    return list(nodes)
