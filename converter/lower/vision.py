"""Ops of vision models: sampling, regions, deformable convolutions, boxes, unpooling."""

from __future__ import annotations

from ..images import PIXEL_FORMATS
from ..ir import Attribute, Value
from .foreign import MICROSOFT
from .masks import as_int64
from .node import OnnxNode
from .registry import lowers
from .window import sizes_of, window_attributes

_SAMPLING = {"bilinear": "linear", "linear": "linear", "nearest": "nearest", "bicubic": "cubic", "cubic": "cubic"}


@lowers("GridSample")
@lowers("GridSample", domain=MICROSOFT)
def grid_sample(node: OnnxNode) -> Value:
    return node.emit(
        "grid_sample",
        [node.operand(0), node.operand(1)],
        mode=_word(node, "mode", _SAMPLING),
        padding=_word(node, "padding_mode", {word: word for word in ("zeros", "border", "reflection")}),
        align_corners=node.integer("align_corners"),
    )


@lowers("RoiAlign")
def roi_align(node: OnnxNode) -> Value:
    half_pixel = False
    if node.has("coordinate_transformation_mode"):
        half_pixel = _word(node, "coordinate_transformation_mode", {"half_pixel": "1", "output_half_pixel": ""}) == "1"
    return node.emit(
        "roi_align",
        [node.operand(0), node.operand(1), node.operand(2)],
        mode=_word(node, "mode", {"avg": "average", "max": "max"}),
        half_pixel=int(half_pixel),
        spatial_scale=node.number("spatial_scale"),
        **{name: node.integer(name) for name in ("output_height", "output_width", "sampling_ratio")},
    )


@lowers("MaxRoiPool")
def max_roi_pool(node: OnnxNode) -> Value:
    pooled: Attribute = list(node.integers("pooled_shape") or [])
    return node.emit(
        "max_roi_pool", [node.operand(0), node.operand(1)], pooled_shape=pooled, spatial_scale=node.number("spatial_scale")
    )


@lowers("DeformConv")
def deform_conv(node: OnnxNode) -> Value:
    """The moved windows become the columns of a matrix, which the weights are multiplied with."""
    x, weights, offset, bias = node.operand(0), node.operand(1), node.operand(2), node.input(3)
    rank, group = node.rank(weights) - 2, node.integer("group")
    if rank < 1 or group < 1:
        raise node.invalid(f"the weights have rank {rank + 2} and there are {group} groups; 3 or more and 1 or more are wanted")
    sizes, listed = [*(node.shape(weights) or ())][2:], node.integers("kernel_shape")
    if listed and (len(listed) != rank or any(isinstance(dim, int) and dim != want for dim, want in zip(sizes, listed))):
        raise node.invalid(f"kernel_shape is {listed}, but the weights' is {[str(dim) for dim in sizes]}")
    kernel = node.emit("shape", [weights], start=2)
    attributes = {"offset_group": node.integer("offset_group"), **window_attributes(node, rank)}
    columns = node.emit("deform_columns", [x, offset, kernel, node.input(4)], **attributes)

    groups, outputs = node.int64s([group]), node.emit("shape", [weights], start=0, end=1)
    batch, positions = node.emit("shape", [x], start=0, end=1), node.emit("shape", [offset], start=2)
    rows = _product(node, node.emit("shape", [weights], start=1))
    grouped = _reshaped(node, columns, batch, groups, rows, _product(node, positions))
    flat = _reshaped(node, weights, groups, node.emit("div", [outputs, groups]), rows)
    y = _reshaped(node, node.emit("matmul", [flat, grouped], trans_a=0, trans_b=0), batch, outputs, positions)
    if bias is None:
        return y
    return node.emit("add", [y, node.emit("unsqueeze", [bias, node.int64s(list(range(1, rank + 1)))])])


def _product(node: OnnxNode, sizes: Value) -> Value:
    return node.emit("reduce", [sizes, None], kind="prod", keep_dims=1, noop_with_empty_axes=0)


def _reshaped(node: OnnxNode, x: Value, *sizes: Value) -> Value:
    return node.emit("reshape", [x, node.emit("concat", list(sizes), axis=0)], allow_zero=1)


@lowers("NonMaxSuppression")
def non_max_suppression(node: OnnxNode) -> Value:
    centred = node.integer("center_point_box")
    if centred not in (0, 1):
        raise node.invalid(f"center_point_box is {centred}, which is neither 0 nor 1")
    operands = [node.operand(0), node.operand(1), node.input(2), node.input(3), node.input(4)]
    return node.emit("non_max_suppression", operands, center_point_box=centred)


@lowers("Unique")
def unique(node: OnnxNode) -> list[Value | None]:
    attributes: dict[str, Attribute] = {"sorted": node.integer("sorted")}
    if node.has("axis"):
        attributes["axis"] = node.integer("axis")
    return node.emit_results("unique", [node.operand(0)], [True, *(node.wants(index) for index in (1, 2, 3))], **attributes)


@lowers("Unique", domain=MICROSOFT)
def microsoft_unique(node: OnnxNode) -> list[Value | None]:
    """The values in the order in which they occur first, where each element's is found, and how often each occurs."""
    wanted = [True, False, node.wants(1), node.wants(2)]
    y, _, places, counts = node.emit_results("unique", [node.operand(0)], wanted, sorted=0)
    return [y, places, counts]


@lowers("Col2Im")
def col2im(node: OnnxNode) -> Value:
    given = [node.integers(name) for name in ("strides", "dilations")]
    pads = node.integers("pads")
    ranks = {len(items) for items in given if items} | ({len(pads) // 2} if pads else set())
    attributes: dict[str, Attribute] = {name: items for name, items in zip(("strides", "dilations"), given) if items}
    if pads:
        attributes["pads"] = pads
    if len(ranks) > 1:
        raise node.invalid(f"strides {given[0]}, dilations {given[1]} and pads {pads} speak of different numbers of axes")
    return node.emit("col2im", [node.operand(0), node.operand(1), node.operand(2)], **attributes)


@lowers("Det")
def det(node: OnnxNode) -> Value:
    return node.emit("det", [node.operand(0)])


@lowers("MaxUnpool")
def max_unpool(node: OnnxNode) -> Value:
    """Indices count in the tensor that kernel, strides and pads give; an output_shape beyond that leaves zeros behind it."""
    x, indices, output_shape = node.operand(0), node.operand(1), node.input(2)
    kernel = node.integers("kernel_shape") or []
    rank = len(kernel)
    if node.rank(x) != rank + 2:
        raise node.invalid(f"the operand has rank {node.rank(x)}, but the kernel {rank} sizes")
    strides, pads = sizes_of(node, "strides", rank, 1), sizes_of(node, "pads", 2 * rank, 0)
    gaps = [size - before - after - stride for size, stride, before, after in zip(kernel, strides, pads[:rank], pads[rank:])]
    spatial = node.emit("shape", [x], start=2)
    spatial = node.emit("add", [node.emit("mul", [spatial, node.int64s(strides)]), node.int64s(gaps)])
    full = node.emit("concat", [node.emit("shape", [x], start=0, end=2), spatial], axis=0)
    zeros = node.emit("constant_of_shape", [_product(node, full), node.constant([0], node.dtype(x))])
    flat_indices = node.emit("reshape", [as_int64(node, indices), node.int64s([-1, 1])], allow_zero=0)
    flat = node.emit("reshape", [x, node.int64s([-1])], allow_zero=0)
    placed = node.emit("reshape", [node.emit("scatter_nd", [zeros, flat_indices, flat], reduction="none"), full], allow_zero=1)
    if output_shape is None:
        return placed
    missing = node.emit("sub", [as_int64(node, output_shape), full])
    before = node.int64s([0] * (rank + 2))
    return node.emit("pad", [placed, node.emit("concat", [before, missing], axis=0)], mode="constant")


@lowers("ImageDecoder")
def image_decoder(node: OnnxNode) -> Value:
    """What decodes the caller's pictures is gone before lowering (converter/images.py)."""
    _word(node, "pixel_format", {word: word for word in PIXEL_FORMATS})
    raise node.unsupported(
        "a picture can be decoded only if it is an input of the model that nothing else reads",
        "decode it before the model: cv2.imdecode",
    )


def _word(node: OnnxNode, name: str, words: dict[str, str]) -> str:
    """A text attribute in the IR's words."""
    given = node.text(name)
    if given not in words:
        raise node.invalid(f"{name} is '{given}', which is not among {sorted(words)}")
    return words[given]
