"""Recognises norms over groups of channels, spelled out by reshapes around a norm of rows, and takes in what scales and shifts
their channels afterwards."""

from __future__ import annotations

import numpy as np

from ..ir import Node, Value
from .facts import FLOATS, Doubles, along_axis, doubles, integer, numpy_dtype
from .rewriter import Rewriter, on_every_graph


def _rewrite(rewriter: Rewriter) -> int:
    changes = 0
    for node in rewriter.nodes():
        changes += _core(rewriter, node) or _scale_or_shift(rewriter, node)
    return changes


recognise_group_norm = on_every_graph(_rewrite)


def _core(rewriter: Rewriter, node: Node) -> int:
    """x [N, C, …] → reshape [N, G, …] → norm of each [n, g] → reshape [N, C, …] becomes the norm of x, then that last reshape."""
    norm = _producer(node.input(0), "instance_norm", "layer_norm")
    inner = _producer(norm.input(0), "reshape") if norm is not None and node.op == "reshape" else None
    if norm is None or inner is None or not _alone(rewriter, norm.output, node) or not _alone(rewriter, inner.output, norm):
        return 0
    x = inner.inputs[0]
    if x is None or x.dtype not in FLOATS:
        return 0
    channels, groups = _channels(x), _channels(inner.output)
    same_images = channels is not None and _same_images(x, inner.output) and _same_images(x, node.output)
    if not same_images or not channels or not groups or channels % groups or _channels(node.output) != channels:
        return 0
    parameters = _parameters(norm, groups)
    if parameters is None:
        return 0
    operands = [
        rewriter.constant(f"{norm.name}.{name}", np.repeat(each, channels // groups).astype(numpy_dtype(x.dtype)), x.dtype)
        for name, each in zip(("scale", "bias"), parameters, strict=True)
    ]
    normed = rewriter.value(norm.output.name, x.dtype, x.shape)
    attributes = {"epsilon": norm.attributes.get("epsilon", 1e-5), "groups": groups}
    rewriter.insert(Node("instance_norm", [x, *operands], [normed], {**attributes}, norm.name), before=node)
    rewriter.set_input(node, 0, normed)
    return 1


def _parameters(norm: Node, groups: int) -> tuple[Doubles, Doubles] | None:
    """Scale and bias of each group; None if they are not known, or the norm is over other axes than all after the groups'."""
    if norm.op == "layer_norm":
        shape = norm.output.shape
        plain = norm.input(1) is None and norm.input(2) is None and len(norm.outputs) == 1
        if not plain or shape is None or integer(norm, "axis", -1) % len(shape) != 2:
            return None
        return np.ones(groups), np.zeros(groups)
    scale, bias = norm.input(1), norm.input(2)
    if integer(norm, "groups") not in (0, groups) or scale is None or bias is None:
        return None
    if scale.constant is None or bias.constant is None or scale.constant.size != groups or bias.constant.size != groups:
        return None
    return doubles(scale).reshape(-1), doubles(bias).reshape(-1)


def _scale_or_shift(rewriter: Rewriter, node: Node) -> int:
    """A factor or shift of each channel, right after the norm or after a reshape that leaves images and channels alone."""
    if node.op not in {"mul", "add"}:
        return 0
    for index in (0, 1):
        normed, constant = node.input(index), node.input(1 - index)
        if normed is None or constant is None or constant.constant is None or constant.dtype != normed.dtype:
            continue
        reshape = _producer(normed, "reshape")
        norm = _producer(normed if reshape is None else reshape.input(0), "instance_norm")
        if norm is None or not _alone(rewriter, normed, node):
            continue
        if reshape is not None and not (_alone(rewriter, norm.output, reshape) and _same_images(norm.output, normed)):
            continue
        channels, shape = _channels(norm.output), normed.shape
        scale, bias = norm.input(1), norm.input(2)
        if not channels or shape is None or _channels(normed) != channels or scale is None or bias is None:
            continue
        numbers = along_axis(constant, 1, len(shape), channels)
        if numbers is None or scale.constant is None or bias.constant is None:
            continue
        old, shift = doubles(scale).reshape(-1), doubles(bias).reshape(-1)
        changed = {1: old * numbers, 2: shift * numbers} if node.op == "mul" else {2: shift + numbers}
        for position, array in changed.items():
            stem = f"{norm.name}.{'scale' if position == 1 else 'bias'}"
            rewriter.set_input(norm, position, rewriter.constant(stem, array.astype(numpy_dtype(normed.dtype)), normed.dtype))
        rewriter.absorb(norm if reshape is None else reshape, node)
        return 1
    return 0


def _producer(value: Value | None, *ops: str) -> Node | None:
    node = value.producer if value is not None else None
    return node if node is not None and node.op in ops and node.outputs[0] is value else None


def _alone(rewriter: Rewriter, value: Value, reader: Node) -> bool:
    return rewriter.sole_reader(value) is reader


def _channels(value: Value) -> int | None:
    """The size of axis 1 of a value of three axes or more."""
    size = value.shape[1] if value.shape is not None and len(value.shape) >= 3 else None
    return size if isinstance(size, int) else None


def _same_images(a: Value, b: Value) -> bool:
    """Whether the first axis of both surely has the same size."""
    if not a.shape or not b.shape or a.shape[0] is None:
        return False
    return a.shape[0] == b.shape[0]
