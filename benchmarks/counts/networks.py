"""The small models whose instructions are counted: one per kind of layer, and three whole networks of the usual kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from zoo import Network

Build = Callable[[], onnx.ModelProto]


def _layer(shape: tuple[int, ...], add: Callable[[Network], str]) -> Build:
    def build() -> onnx.ModelProto:
        net = Network(0)
        return net.model(shape, add(net))

    return build


def _conv(channels: int, out: int, size: int, kernel: int, stride: int = 1, group: int = 1) -> Build:
    return _layer((1, channels, size, size), lambda net: net.conv("x", channels, out, kernel, stride, group, act="relu"))


def _linear(rows: int, inputs: int, outputs: int) -> Build:
    return _layer((rows, inputs), lambda net: net.op("MatMul", ["x", net.normal(0.1, inputs, outputs)]))


def _op(shape: tuple[int, ...], op_type: str, **attributes: Any) -> Build:
    return _layer(shape, lambda net: net.op(op_type, ["x"], **attributes))


def _transposed_conv(net: Network) -> str:
    return net.op("ConvTranspose", ["x", net.normal(0.1, 16, 16, 2, 2)], strides=[2, 2])


def _resize(mode: str, **attributes: Any) -> Build:
    def add(net: Network) -> str:
        scales = net.weight(np.array([1, 1, 2, 2], np.float32))
        return net.op("Resize", ["x", "", scales], mode=mode, **attributes)

    return _layer((1, 16, 20, 20), add)


def _layer_norm(net: Network) -> str:
    return net.op("LayerNormalization", ["x", net.normal(1, 96), net.normal(1, 96)], axis=-1)


def _lstm(net: Network) -> str:
    return net.op("LSTM", ["x", net.normal(0.1, 1, 192, 40), net.normal(0.1, 1, 192, 48)], hidden_size=48)


def _chain(net: Network) -> str:
    """What one loop over the elements can do."""
    x = net.op("Mul", ["x", net.weight(np.float32(0.5))])
    x = net.op("Sigmoid", [net.op("Add", [x, net.weight(np.float32(1))])])
    return net.op("Mul", ["x", x])


def _attention(net: Network, x: str = "x", length: int = 48, width: int = 96, heads: int = 4) -> str:
    split, join = (net.weight(np.array(shape, np.int64)) for shape in ([1, length, heads, width // heads], [1, length, width]))
    scale = net.weight(np.float32((width // heads) ** -0.5))
    query, key, value = (
        net.op("Reshape", [net.op("MatMul", [x, net.normal(width**-0.5, width, width)]), split]) for _ in range(3)
    )
    query = net.op("Transpose", [query], perm=[0, 2, 1, 3])
    key = net.op("Transpose", [key], perm=[0, 2, 3, 1])
    value = net.op("Transpose", [value], perm=[0, 2, 1, 3])
    weights = net.op("Softmax", [net.op("Mul", [net.op("MatMul", [query, key]), scale])], axis=-1)
    return net.op("Reshape", [net.op("Transpose", [net.op("MatMul", [weights, value])], perm=[0, 2, 1, 3]), join])


def _mobile() -> onnx.ModelProto:
    """Inverted residual blocks, one with a squeezed gate."""
    net = Network(1)
    x, channels = net.conv("x", 3, 16, 3, 2, act="hard_swish"), 16
    for kernel, wide, out, stride, act in ((3, 48, 24, 2, "relu6"), (3, 72, 24, 1, "relu6"), (5, 96, 40, 2, "hard_swish")):
        shortcut = x
        x = net.conv(x, channels, wide, 1, act=act)
        x = net.conv(x, wide, wide, kernel, stride, group=wide, act=act)
        if kernel == 5:
            gate = net.conv(net.op("GlobalAveragePool", [x]), wide, 24, 1, act="relu")
            x = net.op("Mul", [x, net.op("HardSigmoid", [net.conv(gate, 24, wide, 1)])])
        x = net.conv(x, wide, out, 1)
        if stride == 1 and channels == out:
            x = net.op("Add", [shortcut, x])
        channels = out
    return net.model([1, 3, 64, 64], net.head(net.conv(x, channels, 160, 1, act="hard_swish"), 160, 200))


def _residual() -> onnx.ModelProto:
    """Basic blocks of 3×3 convolutions; the wide head lets the model afford weights for Winograd's method."""
    net = Network(2)
    x = net.op("MaxPool", [net.conv("x", 3, 32, 7, 2, act="relu")], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 32
    for out, stride in ((32, 1), (64, 2)):
        shortcut = x if stride == 1 else net.conv(x, channels, out, 1, stride, pad=0)
        y = net.conv(net.conv(x, channels, out, 3, stride, act="relu"), out, out, 3)
        x, channels = net.op("Relu", [net.op("Add", [y, shortcut])]), out
    return net.model([1, 3, 64, 64], net.head(x, channels, 8000))


def _transformer() -> onnx.ModelProto:
    """One encoder layer."""
    net = Network(3)

    def norm(x: str) -> str:
        return net.op("LayerNormalization", [x, net.normal(1, 96), net.normal(1, 96)], axis=-1)

    x = norm(net.op("Add", ["x", net.op("MatMul", [_attention(net), net.normal(0.1, 96, 96)])]))
    hidden = net.op("Add", [net.op("MatMul", [x, net.normal(0.1, 96, 384)]), net.normal(0.1, 384)])
    error = net.op("Add", [net.op("Erf", [net.op("Mul", [hidden, net.weight(np.float32(0.5**0.5))])]), net.weight(np.float32(1))])
    hidden = net.op("Mul", [net.op("Mul", [hidden, error]), net.weight(np.float32(0.5))])
    return net.model([1, 48, 96], norm(net.op("Add", [x, net.op("MatMul", [hidden, net.normal(0.1, 384, 96)])])))


NETWORKS: dict[str, Build] = {
    "conv_1x1": _conv(64, 64, 14, 1),
    "conv_3x3_stride_2": _conv(32, 48, 28, 3, 2),
    "conv_3x3_of_picture": _conv(3, 16, 64, 3, 2),
    "conv_7x7_of_picture": _conv(3, 16, 48, 7, 2),
    "conv_3x3_in_groups": _conv(32, 32, 16, 3, group=4),
    "depthwise_3x3": _conv(64, 64, 20, 3, group=64),
    "depthwise_3x3_stride_2": _conv(64, 64, 20, 3, 2, group=64),
    "depthwise_5x5": _conv(64, 64, 14, 5, group=64),
    "conv_transposed_2x2": _layer((1, 16, 20, 20), _transposed_conv),
    "matmul": _linear(96, 96, 96),
    "matmul_ragged": _linear(37, 61, 83),
    "matmul_one_row": _linear(1, 512, 512),
    "attention": _layer((1, 48, 96), _attention),
    "lstm": _layer((6, 1, 40), _lstm),
    "max_pool": _op((1, 32, 24, 24), "MaxPool", kernel_shape=[3, 3], strides=[2, 2]),
    "average_pool": _op((1, 32, 24, 24), "AveragePool", kernel_shape=[2, 2], strides=[2, 2]),
    "global_average_pool": _op((1, 64, 14, 14), "GlobalAveragePool"),
    "resize_linear": _resize("linear", coordinate_transformation_mode="half_pixel"),
    "resize_nearest": _resize("nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    "softmax": _op((48, 100), "Softmax", axis=-1),
    "layer_norm": _layer((48, 96), _layer_norm),
    "reduce_mean": _op((24, 24, 48), "ReduceMean", axes=[1], keepdims=0),
    "elementwise_chain": _layer((40, 250), _chain),
    "erf": _op((40, 100), "Erf"),
    "tanh": _op((40, 100), "Tanh"),
    "transpose": _op((40, 30, 20), "Transpose", perm=[2, 0, 1]),
    "mobile_network": _mobile,
    "residual_network": _residual,
    "transformer_layer": _transformer,
}
