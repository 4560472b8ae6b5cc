"""Convolutions and pools: ops with windows over the spatial axes."""

from __future__ import annotations

from ..ir import Attribute, Value
from .node import OnnxNode
from .registry import lowers

_AUTO_PAD = {"NOTSET": "explicit", "": "explicit", "SAME_UPPER": "same_upper", "SAME_LOWER": "same_lower", "VALID": "valid"}


@lowers("Conv")
def conv(node: OnnxNode) -> Value:
    return convolution(node, node.operand(0), node.operand(1), node.input(2))


def convolution(node: OnnxNode, x: Value, weights: Value, bias: Value | None) -> Value:
    """A convolution with the attributes of the node."""
    attributes = window_attributes(node, _spatial_rank(node, weights))
    return node.emit("conv", [x, weights, bias], group=node.integer("group"), **attributes)


@lowers("ConvTranspose")
def conv_transpose(node: OnnxNode) -> Value:
    weights = node.operand(1)
    rank = _spatial_rank(node, weights)
    return node.emit(
        "conv_transpose",
        [node.operand(0), weights, node.input(2)],
        group=node.integer("group"),
        output_padding=sizes_of(node, "output_padding", rank, 0),
        output_shape=(node.integers("output_shape") or [])[-rank:],
        **window_attributes(node, rank),
    )


@lowers("MaxPool")
def max_pool(node: OnnxNode) -> list[Value | None]:
    return maximum(node, node.operand(0))


def maximum(node: OnnxNode, x: Value) -> list[Value | None]:
    """A max pool with the attributes of the node, and where the largest lie if that is wanted."""
    attributes = _pool(node)
    attributes["storage_order"] = node.integer("storage_order") if node.has("storage_order") else 0
    return node.emit_results("max_pool", [x], [True, node.wants(1)], **attributes)


@lowers("AveragePool")
def average_pool(node: OnnxNode) -> Value:
    return average(node, node.operand(0))


def average(node: OnnxNode, x: Value) -> Value:
    """An average pool with the attributes of the node."""
    include = node.integer("count_include_pad") if node.has("count_include_pad") else 0
    return node.emit("average_pool", [x], count_include_pad=include, **_pool(node))


@lowers("LpPool")
def lp_pool(node: OnnxNode) -> Value:
    return node.emit("lp_pool", [node.operand(0)], p=node.whole("p"), **_pool(node))


def _spatial_rank(node: OnnxNode, weights: Value) -> int:
    rank = node.rank(weights) - 2
    kernel = node.integers("kernel_shape")
    if rank < 1:
        raise node.invalid(f"the weights have {rank + 2} dimensions; 3 or more are wanted")
    shape = node.shape(weights)
    assert shape is not None
    if kernel is not None and (
        len(kernel) != rank or any(isinstance(dim, int) and dim != size for size, dim in zip(kernel, shape[2:], strict=True))
    ):
        raise node.invalid(f"kernel_shape is {kernel}, but the weights have the shape {list(shape)}")
    return rank


def _pool(node: OnnxNode) -> dict[str, Attribute]:
    kernel = node.integers("kernel_shape")
    if not kernel:
        raise node.invalid("kernel_shape is empty")
    ceil_mode = node.integer("ceil_mode") if node.has("ceil_mode") else 0
    return {"kernel": list(kernel), "ceil_mode": ceil_mode, **window_attributes(node, len(kernel))}


def window_attributes(node: OnnxNode, rank: int) -> dict[str, Attribute]:
    """Strides, dilations and pads for `rank` spatial axes, all filled in."""
    auto_pad = _AUTO_PAD.get(node.text("auto_pad") if node.has("auto_pad") else "NOTSET")
    if auto_pad is None:
        raise node.invalid(f"auto_pad is '{node.text('auto_pad')}', which is not among {sorted(filter(None, _AUTO_PAD))}")
    # With automatic padding, the standard says that pads are not to be looked at.
    pads = sizes_of(node, "pads", 2 * rank, 0) if auto_pad == "explicit" else [0] * (2 * rank)
    return {
        "strides": sizes_of(node, "strides", rank, 1),
        "dilations": sizes_of(node, "dilations", rank, 1),
        "pads": pads,
        "auto_pad": auto_pad,
    }


def sizes_of(node: OnnxNode, name: str, count: int, default: int) -> list[int]:
    """An optional list of `count` numbers."""
    given = node.integers(name)
    if not given:
        return [default] * count
    if len(given) != count:
        raise node.invalid(f"{name} has {len(given)} numbers; {count} are wanted")
    return given
