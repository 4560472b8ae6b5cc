"""Reductions, softmax, norms, and what else goes along rows: the largest, running sums."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto

from single_ops.case import Array, Case, Drawn, floats, node, number, positive, size_name, sizes

_IMAGE = (1, 64, 56, 56)


def _reduce(op: str, shape: tuple[int, ...], *axes: int, keep: int = 1) -> Case:
    name = f"{op.lower()} {size_name(shape)} over {'all' if not axes else ' '.join(map(str, axes))}"
    inputs, constants = ("x, a", {"a": sizes(*axes)}) if axes else ("x", {})
    return Case(name, [node(op, inputs, keepdims=keep)], {"x": floats(*shape)}, constants)


def _softmax(*shape: int) -> Case:
    return Case(f"softmax {size_name(shape)}", [node("Softmax", "x", axis=-1)], {"x": floats(*shape)})


def _layer_norm(*shape: int) -> Case:
    nodes = [node("LayerNormalization", "x, scale, bias")]
    weights = {"scale": floats(shape[-1]), "bias": floats(shape[-1])}
    return Case(f"layer norm {size_name(shape)}", nodes, {"x": floats(1, *shape)}, weights)


def _rms_norm(rows: int, width: int) -> Case:
    """As frameworks export it."""
    nodes = [
        node("Pow", "x, two", "a"),
        node("ReduceMean", "a, last", "b"),
        node("Add", "b, epsilon", "c"),
        node("Sqrt", "c", "d"),
        node("Div", "x, d", "e"),
        node("Mul", "e, scale"),
    ]
    constants: dict[str, Drawn | Array] = {"two": number(2), "last": sizes(-1), "epsilon": number(1e-6), "scale": floats(width)}
    return Case(f"rms norm spelled out {rows}x{width}", nodes, {"x": floats(1, rows, width)}, constants)


def _instance_norm(channels: int, size: int) -> Case:
    weights = {"scale": floats(channels), "bias": floats(channels)}
    return Case(
        f"instance norm {channels}x{size}x{size}",
        [node("InstanceNormalization", "x, scale, bias")],
        {"x": floats(1, channels, size, size)},
        weights,
    )


def _group_norm(channels: int, size: int, groups: int, *, between: bool = False) -> Case:
    """As PyTorch exports it, alone or between two pointwise convolutions."""

    def norm(x: str, y: str) -> list[NodeProto]:
        return [
            node("Reshape", f"{x}, split", "a"),
            node("InstanceNormalization", "a, ones, zeros", "b"),
            node("Reshape", "b, join", "c"),
            node("Mul", "c, scale", "d"),
            node("Add", "d, bias", y),
        ]

    nodes, weights = norm("x", "y"), {}
    if between:
        nodes = [node("Conv", "x, w", "before"), *norm("before", "after"), node("Conv", "after, w")]
        weights["w"] = floats(channels, channels, 1, 1, scale=channels**-0.5)
    weights |= {"scale": floats(channels, 1, 1), "bias": floats(channels, 1, 1)}
    fixed = {
        "split": sizes(1, groups, -1),
        "join": sizes(1, channels, size, size),
        "ones": np.ones(groups, np.float32),
        "zeros": np.zeros(groups, np.float32),
    }
    name = f"group norm {channels}x{size}x{size} in {groups} groups" + (" between convolutions" if between else "")
    return Case(name, nodes, {"x": floats(1, channels, size, size)}, {**weights, **fixed})


CASES = [
    _reduce("ReduceMean", (128, 768), -1),
    _reduce("ReduceSum", (512, 512), 0, keep=0),
    _reduce("ReduceMax", _IMAGE, keep=0),
    _reduce("ReduceSum", (1, 309, 172, 2), -1, keep=0),
    _reduce("ReduceL2", (128, 768), -1),
    _reduce("ReduceMean", (1, 96, 160, 160), 2, 3),
    Case("argmax of 21 channels 128x128", [node("ArgMax", "x", axis=1, keepdims=0)], {"x": floats(1, 21, 128, 128)}),
    Case("cumsum 128x768", [node("CumSum", "x, a")], {"x": floats(128, 768)}, {"a": np.array(1, np.int64)}),
    Case("topk 100 of 8400", [node("TopK", "x, k", "y, i")], {"x": floats(1, 8400)}, {"k": sizes(100)}, ("y", "i")),
    _softmax(1, 12, 128, 128),
    _softmax(40, 6625),
    _layer_norm(128, 384),
    _layer_norm(128, 768),
    _layer_norm(197, 768),
    _rms_norm(1, 2048),
    _rms_norm(128, 384),
    _rms_norm(128, 2048),
    _instance_norm(64, 56),
    _instance_norm(64, 128),
    _instance_norm(3, 256),
    _group_norm(128, 32, 32),
    _group_norm(320, 64, 32),
    _group_norm(64, 32, 16, between=True),
    Case("lrn 64x56x56", [node("LRN", "x", size=5)], {"x": floats(*_IMAGE)}),
    Case(
        "batch norm 64x56x56",
        [node("BatchNormalization", "x, scale, bias, mean, variance")],
        {"x": floats(*_IMAGE)},
        {"scale": floats(64), "bias": floats(64), "mean": floats(64), "variance": positive(64)},
    ),
]
