"""Well-known network architectures with random weights (fixed seed), built as ONNX models for benchmarks and tests.

python benchmarks/zoo.py OUTDIR [NAME …] writes NAME.onnx for each; without names, all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[np.generic]


class Network:
    """Nodes and weights of a model under construction; methods append a layer and return the name of its result."""

    def __init__(self, seed: int) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.random = np.random.default_rng(seed)

    def weight(self, array: Array) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def normal(self, scale: float, *shape: int) -> str:
        return self.weight(self.random.normal(0, scale, shape).astype(np.float32))

    def op(self, op_type: str, inputs: Sequence[str], **attributes: Any) -> str:
        name = f"{op_type.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], name=name, **attributes))
        return name

    def conv(
        self, x: str, channels: int, out: int, kernel: int, stride: int = 1, group: int = 1, act: str = "", pad: int | None = None
    ) -> str:
        pad = kernel // 2 if pad is None else pad
        fan_in = channels // group * kernel * kernel
        weight = self.normal((2 / fan_in) ** 0.5, out, channels // group, kernel, kernel)
        y = self.op(
            "Conv",
            [x, weight, self.normal(0.05, out)],
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[pad] * 4,
            group=group,
        )
        return self.activate(y, act)

    def activate(self, x: str, kind: str) -> str:
        if kind == "relu":
            return self.op("Relu", [x])
        if kind == "relu6":
            return self.op("Clip", [x, self.weight(np.float32(0)), self.weight(np.float32(6))])
        if kind == "hard_swish":
            return self.op("HardSwish", [x])
        return x

    def dense(self, x: str, inputs: int, outputs: int) -> str:
        weight = self.normal(inputs**-0.5, outputs, inputs)
        return self.op("Gemm", [x, weight, self.weight(np.zeros(outputs, np.float32))], transB=1)

    def head(self, x: str, channels: int, classes: int = 1000) -> str:
        return self.dense(self.op("Flatten", [self.op("GlobalAveragePool", [x])]), channels, classes)

    def model(self, shape: Sequence[int | str], output: str) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "zoo",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
            self.weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model)


def mobilenet_v1(batch: int | str = 1) -> onnx.ModelProto:
    net = Network(0)
    x, channels = net.conv("x", 3, 32, 3, 2, act="relu6"), 32
    for out, stride in [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]:
        x = net.conv(x, channels, channels, 3, stride, group=channels, act="relu6")
        x = net.conv(x, channels, out, 1, act="relu6")
        channels = out
    return net.model([batch, 3, 224, 224], net.head(x, channels))


def mobilenet_v2(batch: int | str = 1) -> onnx.ModelProto:
    net = Network(1)
    x, channels = net.conv("x", 3, 32, 3, 2, act="relu6"), 32
    stages = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for factor, out, blocks, first_stride in stages:
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            shortcut, wide = x, channels * factor
            if factor > 1:
                x = net.conv(x, channels, wide, 1, act="relu6")
            x = net.conv(x, wide, wide, 3, stride, group=wide, act="relu6")
            x = net.conv(x, wide, out, 1)
            if stride == 1 and channels == out:
                x = net.op("Add", [shortcut, x])
            channels = out
    x = net.conv(x, channels, 1280, 1, act="relu6")
    return net.model([batch, 3, 224, 224], net.head(x, 1280))


def mobilenet_v3_small(batch: int | str = 1) -> onnx.ModelProto:
    net = Network(2)

    def squeeze_excite(x: str, channels: int) -> str:
        inner = max(8, channels // 4)
        gate = net.conv(net.op("GlobalAveragePool", [x]), channels, inner, 1, act="relu")
        gate = net.op("HardSigmoid", [net.conv(gate, inner, channels, 1)], alpha=1 / 6, beta=0.5)
        return net.op("Mul", [x, gate])

    x, channels = net.conv("x", 3, 16, 3, 2, act="hard_swish"), 16
    blocks = [
        (3, 16, 16, True, "relu", 2),
        (3, 72, 24, False, "relu", 2),
        (3, 88, 24, False, "relu", 1),
        (5, 96, 40, True, "hard_swish", 2),
        (5, 240, 40, True, "hard_swish", 1),
        (5, 240, 40, True, "hard_swish", 1),
        (5, 120, 48, True, "hard_swish", 1),
        (5, 144, 48, True, "hard_swish", 1),
        (5, 288, 96, True, "hard_swish", 2),
        (5, 576, 96, True, "hard_swish", 1),
        (5, 576, 96, True, "hard_swish", 1),
    ]
    for kernel, wide, out, gated, act, stride in blocks:
        shortcut = x
        if wide != channels:
            x = net.conv(x, channels, wide, 1, act=act)
        x = net.conv(x, wide, wide, kernel, stride, group=wide, act=act)
        if gated:
            x = squeeze_excite(x, wide)
        x = net.conv(x, wide, out, 1)
        if stride == 1 and channels == out:
            x = net.op("Add", [shortcut, x])
        channels = out
    x = net.op("Flatten", [net.op("GlobalAveragePool", [net.conv(x, 96, 576, 1, act="hard_swish")])])
    x = net.activate(net.dense(x, 576, 1024), "hard_swish")
    return net.model([batch, 3, 224, 224], net.dense(x, 1024, 1000))


def resnet(depth: int, batch: int | str = 1) -> onnx.ModelProto:
    net = Network(3)
    x = net.op("MaxPool", [net.conv("x", 3, 64, 7, 2, act="relu")], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for stage, blocks in enumerate({18: [2, 2, 2, 2], 50: [3, 4, 6, 3]}[depth]):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            shortcut = x
            if depth == 18:
                out = width
                x = net.conv(net.conv(x, channels, width, 3, stride, act="relu"), width, width, 3)
            else:
                out = 4 * width
                x = net.conv(net.conv(x, channels, width, 1, act="relu"), width, width, 3, stride, act="relu")
                x = net.conv(x, width, out, 1)
            if stride != 1 or channels != out:
                shortcut = net.conv(shortcut, channels, out, 1, stride, pad=0)
            x = net.op("Relu", [net.op("Add", [x, shortcut])])
            channels = out
    return net.model([batch, 3, 224, 224], net.head(x, channels))


def squeezenet(batch: int | str = 1) -> onnx.ModelProto:
    net = Network(4)

    def pool(x: str) -> str:
        return net.op("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)

    x, channels = pool(net.conv("x", 3, 64, 3, 2, act="relu", pad=0)), 64
    for fire, (squeeze, expand) in enumerate([(16, 64)] * 2 + [(32, 128)] * 2 + [(48, 192)] * 2 + [(64, 256)] * 2):
        x = pool(x) if fire in (2, 4) else x
        narrow = net.conv(x, channels, squeeze, 1, act="relu")
        wide = [net.conv(narrow, squeeze, expand, kernel, act="relu") for kernel in (1, 3)]
        x, channels = net.op("Concat", wide, axis=1), 2 * expand
    x = net.op("GlobalAveragePool", [net.conv(x, channels, 1000, 1, act="relu")])
    return net.model([batch, 3, 224, 224], net.op("Flatten", [x]))


def encoder(layers: int = 6, width: int = 384, heads: int = 12, length: int | str = 128, batch: int | str = 1) -> onnx.ModelProto:
    net = Network(5)
    head_width = width // heads
    split = net.weight(np.array([0, 0, heads, head_width], np.int64))
    join = net.weight(np.array([0, 0, width], np.int64))

    def linear(x: str, inputs: int, outputs: int) -> str:
        product = net.op("MatMul", [x, net.normal(inputs**-0.5, inputs, outputs)])
        return net.op("Add", [product, net.weight(np.zeros(outputs, np.float32))])

    def norm(x: str) -> str:
        ones, zeros = net.weight(np.ones(width, np.float32)), net.weight(np.zeros(width, np.float32))
        return net.op("LayerNormalization", [x, ones, zeros], axis=-1, epsilon=1e-5)

    def scaled(x: str, factor: float) -> str:
        return net.op("Mul", [x, net.weight(np.float32(factor))])

    x = "x"
    for _ in range(layers):
        query, key, value = (net.op("Reshape", [linear(x, width, width), split]) for _ in range(3))
        query = net.op("Transpose", [query], perm=[0, 2, 1, 3])
        key = net.op("Transpose", [key], perm=[0, 2, 3, 1])
        value = net.op("Transpose", [value], perm=[0, 2, 1, 3])
        weights = net.op("Softmax", [scaled(net.op("MatMul", [query, key]), head_width**-0.5)], axis=-1)
        mixed = net.op("Transpose", [net.op("MatMul", [weights, value])], perm=[0, 2, 1, 3])
        x = norm(net.op("Add", [x, linear(net.op("Reshape", [mixed, join]), width, width)]))
        hidden = linear(x, width, 4 * width)
        error = net.op("Add", [net.op("Erf", [scaled(hidden, 2**-0.5)]), net.weight(np.float32(1))])
        x = norm(net.op("Add", [x, linear(scaled(net.op("Mul", [hidden, error]), 0.5), 4 * width, width)]))
    return net.model([batch, length, width], x)


ZOO: dict[str, Callable[[], onnx.ModelProto]] = {
    "mobilenet_v1": mobilenet_v1,
    "mobilenet_v2": mobilenet_v2,
    "mobilenet_v3_small": mobilenet_v3_small,
    "resnet18": lambda: resnet(18),
    "resnet50": lambda: resnet(50),
    "squeezenet11": squeezenet,
    "minilm_encoder": encoder,
    "mobilenet_v2_b8": lambda: mobilenet_v2(8),
    "mobilenet_v2_dyn": lambda: mobilenet_v2("N"),
    "resnet18_dyn": lambda: resnet(18, "N"),
    "minilm_encoder_dyn": lambda: encoder(length="S", batch="N"),
}


def main(arguments: Sequence[str]) -> None:
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name in arguments[1:] or ZOO:
        onnx.save(ZOO[name](), folder / f"{name}.onnx")


if __name__ == "__main__":
    main(sys.argv[1:])
