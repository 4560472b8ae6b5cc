"""AffineGrid: where the pixels of a picture or volume come from. ONNX's function body is wrong for batches of one."""

from __future__ import annotations

from onnx import TensorProto

from ..ir import Value
from .node import OnnxNode
from .registry import lowers


@lowers("AffineGrid")
def affine_grid(node: OnnxNode) -> Value:
    theta, size = node.operand(0), node.operand(1)
    dtype = node.dtype(theta)
    work = dtype if dtype in (TensorProto.FLOAT, TensorProto.DOUBLE) else int(TensorProto.FLOAT)
    rank = _spatial_rank(node, theta, size)
    space = node.emit("slice", [size, node.int64s([2]), node.int64s([rank + 2])])
    # Homogeneous coordinates, the last axis first.
    axes = [_positions(node, space, axis, rank, work) for axis in reversed(range(rank))]
    pixels = node.emit(
        "concat", [*axes, node.emit("constant_of_shape", [_column(node, space), node.constant([1], work)])], axis=1
    )
    if work != dtype:
        pixels = node.emit("cast", [pixels], to=dtype, saturate=1)
    moved = node.emit("matmul", [pixels, theta], trans_a=0, trans_b=1)
    batch = node.emit("slice", [size, node.int64s([0]), node.int64s([1])])
    return node.emit("reshape", [moved, node.emit("concat", [batch, space, node.int64s([rank])], axis=0)], allow_zero=1)


def _spatial_rank(node: OnnxNode, theta: Value, size: Value) -> int:
    """2 for pictures, 3 for volumes, as theta [N, 2, 3] or [N, 3, 4] says, or else the number of sizes."""
    shape, sizes = node.shape(theta), node.shape(size)
    if shape is not None and len(shape) == 3 and isinstance(shape[2], int):
        rank = shape[2] - 1
    elif sizes is not None and len(sizes) == 1 and isinstance(sizes[0], int):
        rank = sizes[0] - 2
    else:
        raise node.unsupported("theta's shape cannot be told", "give the shapes of the inputs: --shape NAME=1,2,3")
    if rank not in (2, 3):
        raise node.invalid("theta of the shape [N, 2, 3] or [N, 3, 4] is wanted, and 4 or 5 sizes")
    return rank


def _positions(node: OnnxNode, space: Value, axis: int, rank: int, dtype: int) -> Value:
    """The coordinate of each pixel along one axis, from -1 to 1, as a column."""
    zero, one, two = (node.constant(number, dtype) for number in (0, 1, 2))
    length = node.emit("gather", [space, node.int64s(axis)], axis=0)
    steps = node.emit("range", [node.int64s(0), length, node.int64s(1)])
    index = node.emit("cast", [steps], to=dtype, saturate=1)
    count = node.emit("cast", [length], to=dtype, saturate=1)
    if node.integer("align_corners"):
        intervals = node.emit("max", [node.emit("sub", [count, one]), one])
        step, offset = node.emit("div", [two, intervals]), zero
    else:
        step = node.emit("div", [two, count])
        offset = node.emit("div", [step, two])
    along = node.emit("sub", [node.emit("add", [node.emit("mul", [index, step]), offset]), one])
    turned = node.emit("reshape", [along, node.int64s([-1] + [1] * (rank - 1 - axis))], allow_zero=0)
    return node.emit("reshape", [node.emit("expand", [turned, space]), _column(node, space)], allow_zero=1)


def _column(node: OnnxNode, space: Value) -> Value:
    """The shape of a column with one row for each pixel."""
    pixels = node.emit("reduce", [space, node.int64s([0])], kind="prod", keep_dims=1, noop_with_empty_axes=0)
    return node.emit("concat", [pixels, node.int64s([1])], axis=0)
