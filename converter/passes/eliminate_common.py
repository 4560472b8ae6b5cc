"""Keeps one of several nodes that compute the same, and one of several constants with the same content."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable

import numpy as np

from jitney import _core

from ..ir import Attribute, Graph, Node, Value
from .rewriter import Rewriter, on_every_graph


def _rewrite(rewriter: Rewriter) -> int:
    return _merge_constants(rewriter) + _merge_nodes(rewriter)


def _merge_constants(rewriter: Rewriter) -> int:
    changes = 0
    first: dict[Hashable, Value] = {}
    for value in [value for value in rewriter.graph.values() if value.is_constant]:
        kept = first.setdefault(_content(value), value)
        if kept is not value:
            rewriter.replace(value, kept)
            changes += 1
    return changes


def _content(value: Value) -> Hashable:
    """Equal for constants that nothing can tell apart."""
    array = value.constant
    assert array is not None
    if array.dtype == np.object_:
        return value.dtype, array.shape, tuple(array.reshape(-1))
    dense = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return value.dtype, array.shape, id(value.quantisation), hashlib.blake2b(dense.data, digest_size=32).digest()


def _merge_nodes(rewriter: Rewriter) -> int:
    changes = 0
    first: dict[Hashable, Node] = {}
    for node in rewriter.nodes():
        if any(isinstance(attribute, Graph) for attribute in node.attributes.values()) or not _core.op_schema(node.op)["pure"]:
            continue
        attributes = tuple(sorted((name, _frozen(attribute)) for name, attribute in node.attributes.items()))
        key = (node.op, tuple(id(value) for value in node.inputs), attributes, len(node.outputs))
        kept = first.setdefault(key, node)
        if kept is not node:
            _redirect(rewriter, node, kept)
            changes += 1
    return changes


def _frozen(attribute: Attribute) -> tuple[str, str]:
    """A hashable form of an attribute; repr tells -0.0 from 0.0 and is exact for floats."""
    if isinstance(attribute, np.ndarray):
        return str(attribute.dtype), f"{attribute.shape}{attribute.tobytes().hex()}"
    return type(attribute).__name__, repr(attribute)


def _redirect(rewriter: Rewriter, node: Node, kept: Node) -> None:
    for index, value in enumerate(list(node.outputs)):
        if value is None:
            continue
        counterpart = kept.outputs[index]
        if counterpart is None:
            kept.outputs[index] = value
            value.producer = kept
            node.outputs[index] = None
        else:
            rewriter.replace(value, counterpart)
    if rewriter.is_live(node):
        rewriter.erase(node)


eliminate_common = on_every_graph(_rewrite)
