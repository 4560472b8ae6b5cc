"""Models that are nasty as a whole: deep, wide, endless, or larger inside than any memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def _value(name: str, dtype: int = FLOAT, shape: list[int | str] | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def _model(nodes: list, inputs: list, outputs: list, weights: list | None = None, opset: int = 17) -> onnx.ModelProto:  # type: ignore[type-arg]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights or [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def _ints(name: str, *values: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(values, np.int64), name)


def _scalar(name: str, value: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(value, np.int64), name)


X = [_value("x", FLOAT, [2, 3])]


def deep_chain() -> onnx.ModelProto:
    nodes = [helper.make_node("Relu" if i % 2 else "Neg", [f"v{i}" if i else "x"], [f"v{i + 1}"], f"n{i}") for i in range(1500)]
    return _model(nodes, X, [_value("v1500")])


_GRAPH: Final = b"\xa0\x01\x05"
"""The type of an attribute that holds a graph."""


def nested_branches(depth: int = 1000) -> bytes:
    """Written byte by byte, as protobuf itself builds nothing that deep."""
    leaf = helper.make_graph([helper.make_node("Neg", ["x"], ["y"], "leaf")], "leaf", [], [_value("y")]).SerializeToString()
    graph = leaf
    for level in range(depth):
        then = _field(1, b"then_branch") + _field(6, graph) + _GRAPH
        other = _field(1, b"else_branch") + _field(6, leaf) + _GRAPH
        node = _field(1, b"c") + _field(2, b"y") + _field(3, b"if%d" % level) + _field(4, b"If")
        node += _field(5, then) + _field(5, other)
        graph = _field(1, node) + _field(2, b"g%d" % level) + _field(12, _value("y").SerializeToString())
    inputs = b"".join(_field(11, each.SerializeToString()) for each in (*X, _value("c", BOOL, [])))
    return b"\x08\x08" + _field(7, graph + inputs) + _field(8, helper.make_opsetid("", 17).SerializeToString())


def _field(number: int, content: bytes) -> bytes:
    """A protobuf field that holds bytes."""
    length, size = bytearray(), len(content)
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    length.append(size)
    return bytes([number << 3 | 2]) + bytes(length) + content


def nested_branches_within_limits() -> bytes:
    return nested_branches(20)


def doubling(op: str = "Concat") -> onnx.ModelProto:
    """2⁷⁰ elements from 70 nodes."""
    options = {"axis": 0} if op == "Concat" else {}
    nodes = [helper.make_node(op, [f"v{i}" if i else "x"] * 2, [f"v{i + 1}"], f"n{i}", **options) for i in range(70)]
    return _model(nodes, X, [_value("v70")])


def doubling_names() -> onnx.ModelProto:
    """Functions that call two of the next kind, sixty deep: 2⁶⁰ nodes if all were written out."""
    functions = [
        helper.make_function(
            "own",
            f"f{i}",
            ["a"],
            ["b"],
            [
                helper.make_node(f"f{i + 1}" if i < 60 else "Neg", ["a"], ["t"], "one", domain="own" if i < 60 else ""),
                helper.make_node(f"f{i + 1}" if i < 60 else "Abs", ["t"], ["b"], "two", domain="own" if i < 60 else ""),
            ],
            [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)],
        )
        for i in range(61)
    ]
    graph = helper.make_graph([helper.make_node("f0", ["x"], ["y"], "top", domain="own")], "g", X, [_value("y")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=8)


def doubling_values() -> onnx.ModelProto:
    return doubling("Add")


def _sized(op: str, *operands: onnx.TensorProto, first: str = "x", **options: object) -> onnx.ModelProto:
    names = ([first] if first else []) + [operand.name for operand in operands]
    return _model([helper.make_node(op, names, ["y"], "node", **options)], X, [_value("y")], list(operands))


def huge_expand() -> onnx.ModelProto:
    return _sized("Expand", _ints("s", 2**40, 2, 3))


def large_expand() -> onnx.ModelProto:
    return _sized("Expand", _ints("s", 2**31, 2, 3))


def huge_tile() -> onnx.ModelProto:
    return _sized("Tile", _ints("s", 2**40, 2**30))


def huge_zeros() -> onnx.ModelProto:
    return _sized("ConstantOfShape", _ints("s", 2**40), first="")


def large_zeros() -> onnx.ModelProto:
    return _sized("ConstantOfShape", _ints("s", 2**30), first="")


def huge_range() -> onnx.ModelProto:
    return _sized("Range", _scalar("a", 0), _scalar("b", 2**40), _scalar("c", 1), first="")


def huge_pad() -> onnx.ModelProto:
    return _sized("Pad", _ints("p", 0, 2**40, 0, 2**40))


def huge_one_hot() -> onnx.ModelProto:
    return _sized("OneHot", _ints("i", 0, 1), _scalar("d", 2**40), _ints("v", 0, 1), first="")


def huge_resize() -> onnx.ModelProto:
    scales = numpy_helper.from_array(np.array([1e9, 1e9], np.float32), "s")
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], "node", mode="nearest")
    return _model([node], X, [_value("y")], [scales])


def huge_window() -> onnx.ModelProto:
    x = [_value("x", FLOAT, [1, 1, 8, 8])]
    return _model(
        [helper.make_node("MaxPool", ["x"], ["y"], "pool", kernel_shape=[2**31 - 1] * 2, pads=[2**31 - 2] * 4)], x, [_value("y")]
    )


def huge_input() -> onnx.ModelProto:
    return _model([helper.make_node("Relu", ["x"], ["y"], "relu")], [_value("x", FLOAT, [2**20, 2**20])], [_value("y")])


def large_input() -> onnx.ModelProto:
    return _model([helper.make_node("Relu", ["x"], ["y"], "relu")], [_value("x", FLOAT, [2**15, 2**15])], [_value("y")])


def endless_loop(count: int = 2**62) -> onnx.ModelProto:
    body = helper.make_graph(
        [helper.make_node("Neg", ["h"], ["h2"], "step"), helper.make_node("Identity", ["go"], ["go2"], "keep")],
        "body",
        [_value("i", INT64, []), _value("go", BOOL, []), _value("h", FLOAT, [2, 3])],
        [_value("go2", BOOL, []), _value("h2", FLOAT, [2, 3])],
    )
    node = helper.make_node("Loop", ["n", "", "x"], ["y"], "loop", body=body)
    return _model([node], X, [_value("y")], [_scalar("n", count)])


def growing_loop() -> onnx.ModelProto:
    body = helper.make_graph(
        [helper.make_node("Concat", ["h", "h"], ["h2"], "step", axis=0), helper.make_node("Identity", ["go"], ["go2"], "keep")],
        "body",
        [_value("i", INT64, []), _value("go", BOOL, []), _value("h")],
        [_value("go2", BOOL, []), _value("h2")],
    )
    node = helper.make_node("Loop", ["n", "", "x"], ["y"], "loop", body=body)
    return _model([node], X, [_value("y")], [_scalar("n", 100)])


def collecting_loop() -> onnx.ModelProto:
    body = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["out"], "emit"), helper.make_node("Identity", ["go"], ["go2"], "keep")],
        "body",
        [_value("i", INT64, []), _value("go", BOOL, [])],
        [_value("go2", BOOL, []), _value("out")],
    )
    return _model([helper.make_node("Loop", ["n", ""], ["y"], "loop", body=body)], X, [_value("y")], [_scalar("n", 2**40)])


def wide_node() -> onnx.ModelProto:
    return _model([helper.make_node("Sum", ["x"] * 5000, ["y"], "sum")], X, [_value("y")])


def many_parts() -> onnx.ModelProto:
    names = [f"y{i}" for i in range(5000)]
    x = [_value("x", FLOAT, [5000, 1])]
    return _model([helper.make_node("Split", ["x"], names, "split")], x, [_value(names[0])], opset=17)


def many_outputs() -> onnx.ModelProto:
    nodes = [helper.make_node("Neg", ["x"], [f"y{i}"], f"n{i}") for i in range(1500)]
    return _model(nodes, X, [_value(f"y{i}") for i in range(1500)])


def many_dimensions() -> onnx.ModelProto:
    return _model([helper.make_node("Relu", ["x"], ["y"], "relu")], [_value("x", FLOAT, [1] * 1000)], [_value("y")])


def long_einsum() -> onnx.ModelProto:
    equation = ",".join(["ab"] * 200) + "->a"
    return _model([helper.make_node("Einsum", ["x"] * 200, ["y"], "einsum", equation=equation)], X, [_value("y")])


def folded_powers() -> onnx.ModelProto:
    """Constants that folding could multiply out for a long time."""
    weights = [numpy_helper.from_array(np.ones((1024, 1024), np.float32), "w")]
    nodes = [helper.make_node("MatMul", [f"v{i}" if i else "w", "w"], [f"v{i + 1}"], f"n{i}") for i in range(300)]
    nodes.append(helper.make_node("ReduceSum", ["v300"], ["s"], "sum", keepdims=0))
    nodes.append(helper.make_node("Add", ["x", "s"], ["y"], "add"))
    return _model(nodes, X, [_value("y")], weights)


EXTREMES: Final[list[Callable[[], onnx.ModelProto | bytes]]] = [
    deep_chain, nested_branches, nested_branches_within_limits, doubling, doubling_names, doubling_values, huge_expand,
    large_expand, huge_tile, huge_zeros, large_zeros, huge_range, huge_pad, huge_one_hot, huge_resize, huge_window,
    huge_input, large_input, endless_loop, growing_loop, collecting_loop, wide_node, many_parts, many_outputs,
    many_dimensions, long_einsum, folded_powers,
]  # fmt: skip
