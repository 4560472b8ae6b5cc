"""Fills in the type of every value by asking the runtime's own shape rules, so that each op has just one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .ir import Affine, Dim, Graph, Model, Value
from .write import lay_out

SMALL_BYTES: Final = 4096
"""Constants up to this size travel with the model: shape rules read axes, shapes and the like, never weights."""


def infer_shapes(model: Model, *, may_never_run: bool = False) -> None:
    """Sets dtype, shape and elements of all values, subgraphs included. Raises InvalidModel where a rule is broken; shapes may
    contradict each other in one of the branches of an `if`, and everywhere in what `may_never_run`."""
    from jitney import _core

    large = [value for value in model.graph.values() if value.constant is not None and value.constant.nbytes > SMALL_BYTES]
    # Subgraphs are inferred from the types that their inputs declare: each round carries better ones a level further in.
    while True:
        layout = lay_out(model, as_inputs=large)
        for values, facts in zip(layout.values, _core.infer(b"".join(layout.pieces()), may_never_run), strict=True):
            for value, (dtype, dims, elements) in zip(values, facts, strict=True):
                if value is not None:
                    _fill(value, dtype, dims, elements)
        if not _declare_captured(model.graph):
            return


def _declare_captured(graph: Graph) -> bool:
    """Gives the inputs of subgraphs the types of the operands that they stand for; says whether any changed."""
    changed = False
    for node in graph.nodes:
        for _, subgraph in node.subgraphs():
            for outer, inner in node.captured(subgraph):
                if outer is not None and (inner.dtype, inner.shape) != (outer.dtype, outer.shape):
                    inner.dtype, inner.shape = outer.dtype, None if outer.shape is None else [*outer.shape]
                    changed = True
            changed |= _declare_captured(subgraph)
    return changed


_DimTuple = int | tuple[int, list[tuple[str, int]]] | None


def _fill(value: Value, dtype: int, dims: Sequence[_DimTuple] | None, elements: Sequence[_DimTuple] | None) -> None:
    if not value.is_constant:
        value.dtype = dtype
        value.shape = None if dims is None else [_dim(dim) for dim in dims]
    value.elements = None if elements is None else [_dim(element) for element in elements]


def _dim(dim: _DimTuple) -> Dim:
    if dim is None or isinstance(dim, int):
        return dim
    constant, terms = dim
    return Affine(constant, tuple(sorted(terms))) if terms else constant
