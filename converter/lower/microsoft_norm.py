"""ONNX Runtime's normalisations: layer and root-mean-square norms with residuals, group norms, embeddings."""

from __future__ import annotations

from onnx import TensorProto

from ..ir import Value
from .foreign import MICROSOFT
from .integers import FLOAT, cast
from .movement import channels_first, channels_last
from .node import OnnxNode
from .registry import lowers
from .sizes import Size, product, reshape, scalar, size_of

_INT32, _INT64 = int(TensorProto.INT32), int(TensorProto.INT64)


def rms_norm(node: OnnxNode, x: Value, scale: Value | None, axis: int, epsilon: float) -> tuple[Value, Value]:
    """x · scale / √(mean of x² over axis … last + ε), and what x was multiplied with; computed in float32 or more."""
    dtype = node.dtype(x)
    wide = x if dtype == TensorProto.DOUBLE else cast(node, x, FLOAT)
    axes = node.int64s(list(range(node.axis(axis, node.rank(x)), node.rank(x))))
    mean = node.emit("reduce", [node.emit("mul", [wide, wide]), axes], kind="mean", keep_dims=1, noop_with_empty_axes=0)
    shifted = node.emit("add", [mean, node.constant(epsilon, node.dtype(wide))])
    factor = node.emit("reciprocal", [node.emit("sqrt", [shifted])])
    y = cast(node, node.emit("mul", [wide, factor]), dtype)
    return (y if scale is None else node.emit("mul", [y, scale])), factor


@lowers("SimplifiedLayerNormalization")
@lowers("SimplifiedLayerNormalization", domain=MICROSOFT)
def simplified_layer_normalization(node: OnnxNode) -> list[Value | None]:
    return [*rms_norm(node, node.operand(0), node.operand(1), node.integer("axis"), node.number("epsilon"))]


@lowers("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_layer_normalization(node: OnnxNode) -> list[Value | None]:
    simplified = node.op == "SkipSimplifiedLayerNormalization"
    total = node.emit("add", [node.operand(0), node.operand(1)])
    gamma, beta, bias = node.operand(2), None if simplified else node.input(3), node.input(3 if simplified else 4)
    if bias is not None:
        total = node.emit("add", [total, bias])
    if simplified:
        y, factor = rms_norm(node, total, gamma, -1, node.number("epsilon"))
        return [y, None, factor, total]
    wanted = [True, node.wants(1), node.wants(2)]
    results = node.emit_results("layer_norm", [total, gamma, beta], wanted, axis=-1, epsilon=node.number("epsilon"))
    return [*results, total]


@lowers("EmbedLayerNormalization", domain=MICROSOFT)
def embed_layer_normalization(node: OnnxNode) -> list[Value | None]:
    ids, segments, mask = node.operand(0), node.input(1), node.input(7)
    places = node.input(8)
    rows = [_rows(node, node.operand(2), ids), _rows(node, node.operand(3), _places(node, ids) if places is None else places)]
    table = node.input(4)
    if segments is not None and table is not None:
        rows.append(_rows(node, table, segments))
    total = _sum(node, rows)
    y = node.emit("layer_norm", [total, node.operand(5), node.operand(6)], axis=-1, epsilon=node.number("epsilon"))
    return [y, _mask_index(node, ids, mask) if node.wants(1) else None, total]


@lowers("QEmbedLayerNormalization", domain=MICROSOFT)
def quantised_embed_layer_normalization(node: OnnxNode) -> list[Value | None]:
    ids, segments = node.operand(0), node.input(1)

    def decoded(value: Value, index: int) -> Value:
        """The value with the scale and zero point that belong to operand `index`."""
        return node.emit("dequantize", [value, node.operand(index + 6), node.operand(index + 11)], axis=0, block=0, to=FLOAT)

    rows = [decoded(_rows(node, node.operand(2), ids), 2), decoded(_rows(node, node.operand(3), _places(node, ids)), 3)]
    table = node.input(4)
    if segments is not None and table is not None:
        rows.append(decoded(_rows(node, table, segments), 4))
    gamma, beta = (decoded(node.operand(index), index) for index in (5, 6))
    y = node.emit("layer_norm", [_sum(node, rows), gamma, beta], axis=-1, epsilon=node.number("epsilon"))
    return [y, _mask_index(node, ids, node.input(7)) if node.wants(1) else None]


def _rows(node: OnnxNode, table: Value, ids: Value) -> Value:
    return node.emit("gather", [table, ids], axis=0)


def _places(node: OnnxNode, ids: Value) -> Value:
    """0, 1 … for each word of a row."""
    return node.emit("range", [node.int64s(0), scalar(node, size_of(node, ids, 1)), node.int64s(1)])


def _sum(node: OnnxNode, terms: list[Value]) -> Value:
    total, *rest = terms
    for term in rest:
        total = node.emit("add", [total, term])
    return total


def _mask_index(node: OnnxNode, ids: Value, mask: Value | None) -> Value:
    """How many words of each row the mask leaves; 0 without a mask."""
    if mask is not None:
        counted = node.emit("reduce", [mask, node.int64s([1])], kind="sum", keep_dims=0, noop_with_empty_axes=0)
        return cast(node, counted, _INT32)
    return node.emit("constant_of_shape", [node.emit("shape", [ids], start=0, end=1), node.constant([0], _INT32)])


@lowers("GroupNorm", "SkipGroupNorm", domain=MICROSOFT)
def group_norm(node: OnnxNode) -> list[Value | None]:
    x, last = node.operand(0), node.integer("channels_last") != 0
    dtype, rank = node.dtype(x), node.rank(x)
    if rank < 3:
        raise node.invalid(f"the operand has {rank} dimensions; batch, channels and space are wanted")
    if node.op == "SkipGroupNorm":
        x = _with_skip(node, x, last)
    total = x
    if last:
        x = channels_first(node, x)
    sizes = [size_of(node, x, axis) for axis in range(rank)]
    groups = node.integer("groups")
    if groups < 1 or (isinstance(sizes[1], int) and sizes[1] % groups != 0):
        raise node.invalid(f"{groups} groups cannot be made of {sizes[1] if isinstance(sizes[1], int) else 'the'} channels")
    if isinstance(sizes[1], int):
        channels: Size = sizes[1] // groups
    else:
        channels = node.emit("div", [sizes[1], node.int64s([groups])])
    rows = reshape(node, cast(node, x, FLOAT), [sizes[0], groups, product(node, [channels, *sizes[2:]])])
    # Normalised over each group as one row.
    normal = node.emit("layer_norm", [rows], axis=-1, epsilon=node.number("epsilon"))
    y = reshape(node, normal, sizes)
    for op, index in (("mul", 1), ("add", 2)):
        parameter = node.emit("unsqueeze", [node.operand(index), node.int64s(list(range(1, rank - 1)))])
        y = node.emit(op, [y, cast(node, parameter, FLOAT)])
    if node.integer("activation") == 1:
        y = node.emit("silu", [y])
    y = cast(node, channels_last(node, y) if last else y, dtype)
    return [y, total] if node.op == "SkipGroupNorm" else [y]


def _with_skip(node: OnnxNode, x: Value, last: bool) -> Value:
    """x + skip + bias. The skip may have no spatial axes."""
    rank, skip, bias = node.rank(x), node.operand(3), node.input(4)
    space = list(range(1, rank - 1)) if last else list(range(2, rank))
    if node.rank(skip) == 2:
        skip = node.emit("unsqueeze", [skip, node.int64s(space)])
    total = node.emit("add", [x, skip])
    if bias is None:
        return total
    if not last:
        bias = node.emit("unsqueeze", [bias, node.int64s(list(range(1, rank - 1)))])
    return node.emit("add", [total, bias])
