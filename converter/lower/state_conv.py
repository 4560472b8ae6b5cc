"""CausalConvWithState: a depthwise convolution over the past and the present, whose end is the next past."""

from __future__ import annotations

from ..ir import Value
from .node import OnnxNode
from .registry import lowers
from .sizes import size_of, vector


@lowers("CausalConvWithState", since=27)
def causal_conv_with_state(node: OnnxNode) -> list[Value | None]:
    x, weights, bias, past = node.operand(0), node.operand(1), node.input(2), node.input(3)
    if node.rank(x) != 3 or node.rank(weights) != 3:
        raise node.invalid(f"the operands have {node.rank(x)} and {node.rank(weights)} dimensions; both must have 3")
    channels = next((size for size in (size_of(node, weights, 0), size_of(node, x, 1)) if isinstance(size, int)), None)
    taps = size_of(node, weights, 2)
    if channels is None or not isinstance(taps, int):
        raise node.unsupported("weights of unknown shape", "give the shape of the weights, or store them in the model")
    if taps == 0:
        raise node.invalid("the weights have no taps")
    if past is None:
        sizes = [size_of(node, x, 0), size_of(node, x, 1), taps - 1]
        past = node.emit("constant_of_shape", [vector(node, sizes), node.constant([0], node.dtype(x))])
    whole = node.emit("concat", [past, x], axis=2)
    y = node.emit(
        "conv",
        [whole, weights, bias],
        group=channels,
        strides=[1],
        dilations=[1],
        pads=[0, 0],
        auto_pad="explicit",
    )
    activation = node.text("activation").lower()
    if activation in ("silu", "swish"):
        y = node.emit("silu", [y])
    elif activation != "none":
        raise node.invalid(f"activation is '{activation}', which is not among none, silu and swish")
    # The last taps - 1 numbers; counted from the front, since -0 would mean the first.
    start = node.emit("sub", [vector(node, [size_of(node, whole, 2)]), node.int64s([taps - 1])])
    return [y, node.emit("slice", [whole, start, node.int64s([2**62]), node.int64s([2])])]
