"""Small sound models to be mutated: networks, branches, loops, functions, external data, and drawn chains."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from random import Random
from typing import Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.generated.draw import Reject
from tests.generated.generate import draw_case

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def _value(name: str, dtype: int, shape: list[int | str] | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def _weights(name: str, *shape: int, seed: int = 0) -> onnx.TensorProto:
    return numpy_helper.from_array(np.random.default_rng(seed).standard_normal(shape).astype(np.float32), name)


def _ints(name: str, *values: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(values, np.int64), name)


def _model(nodes: list, inputs: list, outputs: list, weights: list, functions: list | None = None) -> onnx.ModelProto:  # type: ignore[type-arg]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    opsets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid("own", 1)] if functions else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=functions or [])


def convolutions() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "b", "b", "b", "v"], ["n"], "bn"),
        helper.make_node("Relu", ["n"], ["r"], "relu"),
        helper.make_node("MaxPool", ["r"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Shape", ["p"], ["s"], "shape"),
        helper.make_node("Gather", ["s", "zero"], ["n0"], "gather", axis=0),
        helper.make_node("Concat", ["n0", "rest"], ["t"], "concat", axis=0),
        helper.make_node("Reshape", ["p", "t"], ["f"], "reshape"),
        helper.make_node("Gemm", ["f", "g"], ["y"], "gemm"),
    ]
    variance = numpy_helper.from_array(np.full(4, 0.5, np.float32), "v")
    weights = [_weights("w", 4, 3, 3, 3), _weights("b", 4), variance, _ints("zero", 0), _ints("rest", -1), _weights("g", 64, 5)]
    return _model(nodes, [_value("x", FLOAT, ["N", 3, 8, 8])], [_value("y", FLOAT, ["N", 5])], weights)


def attention() -> onnx.ModelProto:
    nodes = [
        helper.make_node("LayerNormalization", ["x", "s", "s"], ["n"], "norm"),
        helper.make_node("MatMul", ["n", "w"], ["q"], "query"),
        helper.make_node("Transpose", ["n"], ["k"], "turn", perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "k"], ["a"], "scores"),
        helper.make_node("Softmax", ["a"], ["p"], "softmax", axis=-1),
        helper.make_node("MatMul", ["p", "n"], ["o"], "mix"),
        helper.make_node("Add", ["o", "x"], ["r"], "residual"),
        helper.make_node("Slice", ["r", "start", "end", "axis"], ["y"], "slice"),
    ]
    weights = [_weights("s", 6), _weights("w", 6, 6), _ints("start", 0), _ints("end", 3), _ints("axis", 1)]
    return _model(nodes, [_value("x", FLOAT, [2, "T", 6])], [_value("y", FLOAT, None)], weights)


def branches() -> onnx.ModelProto:
    def branch(name: str, op: str) -> onnx.GraphProto:
        return helper.make_graph([helper.make_node(op, ["x", "w"], [name], name)], name, [], [_value(name, FLOAT, None)])

    nodes = [
        helper.make_node("ReduceSum", ["x"], ["t"], "sum", keepdims=0),
        helper.make_node("Greater", ["t", "zero"], ["c"], "compare"),
        helper.make_node("If", ["c"], ["y"], "choose", then_branch=branch("a", "Add"), else_branch=branch("b", "Mul")),
    ]
    zero = numpy_helper.from_array(np.array(0, np.float32), "zero")
    return _model(nodes, [_value("x", FLOAT, [2, 3])], [_value("y", FLOAT, None)], [_weights("w", 3), zero])


def loops() -> onnx.ModelProto:
    body = helper.make_graph(
        [
            helper.make_node("Add", ["h", "x"], ["h2"], "step"),
            helper.make_node("Identity", ["go"], ["go2"], "keep"),
            helper.make_node("Identity", ["h2"], ["out"], "emit"),
        ],
        "body",
        [_value("i", INT64, []), _value("go", BOOL, []), _value("h", FLOAT, [2, 3])],
        [_value("go2", BOOL, []), _value("h2", FLOAT, [2, 3]), _value("out", FLOAT, [2, 3])],
    )
    scanned = helper.make_graph(
        [helper.make_node("Mul", ["s", "e"], ["s2"], "product"), helper.make_node("Identity", ["s2"], ["e2"], "each")],
        "scanned",
        [_value("s", FLOAT, [3]), _value("e", FLOAT, [3])],
        [_value("s2", FLOAT, [3]), _value("e2", FLOAT, [3])],
    )
    nodes = [
        helper.make_node("Loop", ["count", "true", "x"], ["h_last", "all"], "loop", body=body),
        helper.make_node("Scan", ["w", "x"], ["s_last", "each_out"], "scan", body=scanned, num_scan_inputs=1),
    ]
    count, true = numpy_helper.from_array(np.array(3, np.int64), "count"), numpy_helper.from_array(np.array(True), "true")
    outputs = [_value(name, FLOAT, None) for name in ("h_last", "all", "s_last", "each_out")]
    return _model(nodes, [_value("x", FLOAT, [2, 3])], outputs, [count, true, _weights("w", 3)])


def functions() -> onnx.ModelProto:
    inner = helper.make_function(
        "own", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"], "twice")], [helper.make_opsetid("", 17)]
    )
    outer = helper.make_function(
        "own",
        "Scaled",
        ["a"],
        ["b"],
        [
            helper.make_node("Twice", ["a"], ["t"], "inner", domain="own"),
            helper.make_node("Relu", ["t"], ["b"], "relu"),
        ],
        [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)],
    )
    nodes = [helper.make_node("Scaled", ["x"], ["m"], "first", domain="own"), helper.make_node("Exp", ["m"], ["y"], "exp")]
    return _model(nodes, [_value("x", FLOAT, [2, "K"])], [_value("y", FLOAT, None)], [], [inner, outer])


def recurrent() -> onnx.ModelProto:
    nodes = [
        helper.make_node("LSTM", ["x", "w", "r", "b"], ["h", "", "c"], "lstm", hidden_size=4),
        helper.make_node("Squeeze", ["h", "axis"], ["y"], "squeeze"),
        helper.make_node("TopK", ["y", "k"], ["best", "index"], "top", axis=-1),
    ]
    weights = [_weights("w", 1, 16, 3), _weights("r", 1, 16, 4), _weights("b", 1, 32), _ints("axis", 1), _ints("k", 2)]
    outputs = [_value("best", FLOAT, None), _value("index", INT64, None), _value("c", FLOAT, None)]
    return _model(nodes, [_value("x", FLOAT, ["T", 1, 3])], outputs, weights)


def shapes() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Resize", ["x", "", "scales"], ["big"], "resize", mode="nearest"),
        helper.make_node("Pad", ["big", "pads"], ["padded"], "pad"),
        helper.make_node("Split", ["padded", "parts"], ["a", "b"], "split", axis=1),
        helper.make_node("Tile", ["a", "repeats"], ["tiled"], "tile"),
        helper.make_node("Expand", ["b", "target"], ["wide"], "expand"),
        helper.make_node("ConstantOfShape", ["target"], ["zeros"], "zeros"),
        helper.make_node("Add", ["wide", "zeros"], ["sum"], "add"),
        helper.make_node("NonZero", ["sum"], ["where"], "nonzero"),
        helper.make_node("GatherND", ["tiled", "points"], ["picked"], "points"),
        helper.make_node("Einsum", ["tiled", "tiled"], ["products"], "einsum", equation="bchw,bdhw->bcd"),
        helper.make_node("OneHot", ["zero", "depth", "on_off"], ["hot"], "hot"),
    ]
    scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")
    on_off = numpy_helper.from_array(np.array([0, 1], np.float32), "on_off")
    lists = {"pads": [0, 0, 1, 1, 0, 0, 0, 0], "parts": [1, 2], "repeats": [1, 2, 1, 1], "target": [3, 2, 7, 7], "zero": [0, 1]}
    weights = [scales, on_off, *(_ints(name, *values) for name, values in lists.items())]
    weights += [numpy_helper.from_array(np.array(4, np.int64), "depth")]
    weights += [numpy_helper.from_array(np.array([[0, 0], [0, 1]], np.int64), "points")]
    outputs = [
        _value("where", INT64, None),
        _value("picked", FLOAT, None),
        _value("products", FLOAT, None),
        _value("hot", FLOAT, None),
    ]
    return _model(nodes, [_value("x", FLOAT, [1, 3, 3, 3])], outputs, weights)


FIXED: Final[list[Callable[[], onnx.ModelProto]]] = [
    convolutions, attention, branches, loops, functions, recurrent, shapes,
]  # fmt: skip


def seed_model(random: Random) -> onnx.ModelProto:
    """A sound model: one of the fixed ones, or a drawn case."""
    if random.random() < 0.6:
        return random.choice(FIXED)()
    with contextlib.suppress(Reject):
        return draw_case(random).model()
    return convolutions()
