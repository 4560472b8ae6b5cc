"""Ops that only move data. What older opsets give as attributes becomes operands."""

from __future__ import annotations

from onnx import TensorProto

from ..ir import Value
from .node import OnnxNode
from .registry import Result, lowers


@lowers("Reshape", since=5)
def reshape(node: OnnxNode) -> Value:
    allow_zero = node.integer("allowzero") if node.has("allowzero") else 0
    return node.emit("reshape", [node.operand(0), node.operand(1)], allow_zero=allow_zero)


@lowers("Flatten")
def flatten(node: OnnxNode) -> Value:
    return node.emit("flatten", [node.operand(0)], axis=node.integer("axis"))


@lowers("Squeeze")
def squeeze(node: OnnxNode) -> Value:
    axes = node.input(1)
    listed = node.integers("axes")
    return node.emit("squeeze", [node.operand(0), node.int64s(listed) if listed is not None else axes])


@lowers("Unsqueeze")
def unsqueeze(node: OnnxNode) -> Value:
    listed = node.integers("axes")
    return node.emit("unsqueeze", [node.operand(0), node.int64s(listed) if listed is not None else node.operand(1)])


@lowers("Transpose")
def transpose(node: OnnxNode) -> Value:
    x, perm = node.operand(0), node.integers("perm")
    if perm is None:
        perm = list(range(node.rank(x)))[::-1]
    return node.emit("transpose", [x], perm=perm)


@lowers("Slice", since=1)
def slice_with_attributes(node: OnnxNode) -> Value:
    starts, ends, axes = node.integers("starts"), node.integers("ends"), node.integers("axes")
    if starts is None or ends is None:
        raise node.invalid("starts and ends are missing")
    return node.emit(
        "slice", [node.operand(0), node.int64s(starts), node.int64s(ends), None if axes is None else node.int64s(axes)]
    )


@lowers("Slice", since=10)
def slice_(node: OnnxNode) -> Value:
    return node.emit("slice", [node.operand(0), node.operand(1), node.operand(2), node.input(3), node.input(4)])


@lowers("Split")
def split(node: OnnxNode) -> list[Value | None]:
    listed = node.integers("split")
    sizes = node.int64s(listed) if listed is not None else node.input(1)
    count = node.integer("num_outputs") if node.has("num_outputs") else node.output_count
    if count != node.output_count:
        raise node.invalid(f"num_outputs is {count}, but the node has {node.output_count} results")
    wanted = [index == 0 or node.wants(index) for index in range(count)]
    axis = node.integer("axis") if node.has("axis") else 0
    return node.emit_results("split", [node.operand(0), sizes], wanted, axis=axis)


@lowers("Concat", since=4)
def concat(node: OnnxNode) -> Value:
    return node.emit("concat", node.operands, axis=node.integer("axis"))


@lowers("Expand")
def expand(node: OnnxNode) -> Value:
    return node.emit("expand", [node.operand(0), node.operand(1)])


@lowers("Tile", since=6)
def tile(node: OnnxNode) -> Value:
    return node.emit("tile", [node.operand(0), node.operand(1)])


@lowers("Pad", since=2)
def pad_with_attributes(node: OnnxNode) -> Value:
    x, mode, value = node.operand(0), node.text("mode"), node.number("value")
    fill = node.constant(value, node.dtype(x)) if mode == "constant" and value != 0 else None
    return node.emit("pad", [x, node.int64s(node.integers("pads") or []), fill], mode=mode)


@lowers("Pad", since=11)
def pad(node: OnnxNode) -> Value:
    return node.emit("pad", [node.operand(0), node.operand(1), node.input(2), node.input(3)], mode=node.text("mode"))


@lowers("CenterCropPad")
def center_crop_pad(node: OnnxNode) -> Result:
    target = node.operand(1)
    if node.dtype(target) != TensorProto.INT64:  # the function body adds 64-bit numbers to it
        node.inputs[1] = node.emit("cast", [target], to=int(TensorProto.INT64), saturate=1)
    return node.expand_function()


@lowers("DepthToSpace")
def depth_to_space(node: OnnxNode) -> Value:
    mode = node.text("mode").lower() if node.has("mode") else "dcr"
    return node.emit("depth_to_space", [node.operand(0)], block=node.integer("blocksize"), mode=mode)


@lowers("SpaceToDepth")
def space_to_depth(node: OnnxNode) -> Result:
    if node.has("mode") and node.text("mode") != "DCR":
        return node.expand_function()
    return node.emit("space_to_depth", [node.operand(0)], block=node.integer("blocksize"))


def channels_first(node: OnnxNode, x: Value) -> Value:
    """[N, spatial…, C] as [N, C, spatial…]."""
    rank = node.rank(x)
    return node.emit("transpose", [x], perm=[0, rank - 1, *range(1, rank - 1)])


def channels_last(node: OnnxNode, x: Value) -> Value:
    """[N, C, spatial…] as [N, spatial…, C]."""
    return node.emit("transpose", [x], perm=[0, *range(2, node.rank(x)), 1])
