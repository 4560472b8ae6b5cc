"""Convolutions and pools in one to three dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from ..case import FLOATS
from ..draw import Draw
from .registry import rule


def _image(d: Draw) -> list[int]:
    shape = d.shape(3, 5)
    if not d.tame:
        shape[2:] = [max(size, 1) if d.chance(0.9) else size for size in shape[2:]]
        shape[2:] = [size if len(shape) < 5 else min(size, 5) for size in shape[2:]]
    return shape


def _windows(
    d: Draw, sizes: Sequence[int], kernel: Sequence[int], *, dilated: bool = True, pads_below_kernel: bool = False
) -> None:
    """Strides, dilations and pads such that a window fits."""
    rank = len(sizes)
    if d.chance(0.6):
        d.attribute("strides", [d.pick([1, 1, 2, 3]) for _ in sizes])
    dilations = [1] * rank
    if dilated and d.has("dilations") and d.chance(0.4):
        dilations = [d.pick([1, 1, 2, 3]) for _ in sizes]
        d.attribute("dilations", dilations)
    reach = [(size - 1) * step + 1 for size, step in zip(kernel, dilations)]
    mode = d.pick(["explicit", "explicit", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if mode.startswith("SAME") or mode == "VALID":
        d.attribute("auto_pad", mode)
        strides = d.attributes.get("strides", [1] * rank)
        d.need(all(wide >= stride for wide, stride in zip(reach, strides)))  # else padding would be negative
        d.need(mode != "VALID" or all(size >= wide for size, wide in zip(sizes, reach)))
        return
    if mode == "NOTSET":
        d.attribute("auto_pad", mode)
    pads = [0] * 2 * rank
    if d.chance(0.7):
        most = [size - 1 if pads_below_kernel else 3 for size in kernel]
        pads = [d.integer(0, max(most[index % rank], 0)) for index in range(2 * rank)]
        d.attribute("pads", pads)
    d.need(all(size + pads[i] + pads[i + rank] >= reach[i] for i, size in enumerate(sizes)))


@rule("Conv")
def conv(d: Draw) -> None:
    n, channels, *sizes = _image(d)
    d.loose = True
    group = d.pick([size for size in range(1, channels + 1) if channels % size == 0]) if channels and d.chance(0.4) else 1
    d.need(channels > 0)
    outputs = group * d.integer(1, 4 if group > 3 else 9)
    kernel = [d.integer(1, 4) for _ in sizes]
    d.operand([n, channels, *sizes], allowed=FLOATS)
    d.operand([outputs, channels // group, *kernel], "unit")
    if d.chance(0.5):
        d.operand([outputs])
    if d.chance(0.5):
        d.attribute("kernel_shape", kernel)
    if group > 1:
        d.attribute("group", group)
    _windows(d, sizes, kernel)


@rule("ConvTranspose")
def conv_transpose(d: Draw) -> None:
    n, channels, *sizes = _image(d)
    d.loose = True
    d.need(channels > 0)
    group = d.pick([size for size in range(1, channels + 1) if channels % size == 0]) if d.chance(0.4) else 1
    per_group = d.integer(1, 4)
    kernel = [d.integer(1, 4) for _ in sizes]
    rank = len(sizes)
    d.operand([n, channels, *sizes], allowed=FLOATS)
    d.operand([channels, per_group, *kernel], "unit")
    if d.chance(0.5):
        d.operand([per_group * group])
    if d.chance(0.5):
        d.attribute("kernel_shape", kernel)
    if group > 1:
        d.attribute("group", group)
    strides = [d.pick([1, 2, 2, 3]) for _ in sizes]
    dilations = [d.pick([1, 1, 2]) for _ in sizes] if d.chance(0.3) else [1] * rank
    d.attribute("strides", strides)
    if dilations != [1] * rank or d.chance(0.2):
        d.attribute("dilations", dilations)
    out_pads = [0] * rank
    if d.chance(0.4):
        out_pads = [d.integer(0, max(strides[i], dilations[i]) - 1) for i in range(rank)]
        d.attribute("output_padding", out_pads)
    full = [(sizes[i] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 + out_pads[i] for i in range(rank)]
    choice = d.pick(["pads", "pads", "none", "SAME_UPPER", "SAME_LOWER", "VALID", "shape"])
    if choice == "pads":
        pads = [d.integer(0, 2) for _ in range(2 * rank)]
        d.need(all(full[i] - pads[i] - pads[i + rank] > 0 for i in range(rank)))
        d.attribute("pads", pads)
    elif choice == "shape":
        d.attribute("output_shape", [d.integer(max(1, size - 4), size) for size in full])
        d.maybe("auto_pad", ["SAME_UPPER", "SAME_LOWER", "NOTSET"])
    elif choice != "none":
        d.attribute("auto_pad", choice)


@rule("MaxPool", "AveragePool", "LpPool")
def pool(d: Draw) -> None:
    n, channels, *sizes = _image(d)
    d.loose = d.op != "MaxPool"
    kernel = [d.integer(1, 4) for _ in sizes]
    d.operand([n, channels, *sizes], "extreme" if d.op == "MaxPool" and d.chance(0.3) else "normal")
    d.attribute("kernel_shape", kernel)
    _windows(d, sizes, kernel, pads_below_kernel=True)
    d.maybe("ceil_mode", [0, 1])
    d.maybe("count_include_pad", [0, 1])
    d.maybe("p", [1, 2, 3])
    if d.op == "MaxPool" and d.since >= 8 and d.chance(0.4):
        d.maybe("storage_order", [0, 1])
        d.results = [True, True]


@rule("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(d: Draw) -> None:
    d.loose = True
    shape = d.shape(3, 5)
    d.need(0 not in shape[2:])
    d.operand(shape)
    d.maybe("p", [1, 2, 3])


@rule("MaxUnpool")
def max_unpool(d: Draw) -> None:
    n, c = d.integer(1, 2), d.integer(1, 3)
    sizes = [d.integer(1, 4) for _ in range(2)]
    out = [size * 2 for size in sizes]
    d.operand([n, c, *sizes])
    count = n * c * sizes[0] * sizes[1]
    values = d.sample(range(n * c * out[0] * out[1]), count)
    d.listed(values, shape=[n, c, *sizes])
    if d.chance(0.4):
        d.listed([n, c, *out], constant=1.0)
    d.attribute("kernel_shape", [2, 2])
    d.attribute("strides", [2, 2])


@rule("Col2Im")
def col2im(d: Draw) -> None:
    sizes = [d.integer(2, 6) for _ in range(d.integer(1, 3))]
    d.loose = True
    kernel = [d.integer(1, min(size, 3)) for size in sizes]
    strides = [d.integer(1, 2) for _ in sizes]
    pads = [d.integer(0, 1) for _ in range(2 * len(sizes))]
    dilations = [d.integer(1, 2) for _ in sizes]
    columns = 1
    for i, size in enumerate(sizes):
        room = size + pads[i] + pads[i + len(sizes)] - dilations[i] * (kernel[i] - 1) - 1
        d.need(room >= 0)
        columns *= room // strides[i] + 1
    window = 1
    for size in kernel:
        window *= size
    d.operand([d.integer(1, 2), d.integer(1, 3) * window, columns], allowed={"FLOAT", "DOUBLE"})
    d.listed(sizes)
    d.listed(kernel)
    d.attribute("strides", strides)
    d.attribute("pads", pads)
    d.attribute("dilations", dilations)
