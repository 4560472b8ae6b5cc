"""If: branches as closed graphs, whatever they capture, on conditions that are fed or constant."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from op_check import check_model, floats, model_of, value, versions

import jitney
from jitney.converter.convert import convert_to_bytes
from jitney.converter.load import load
from jitney.converter.lower import lower
from jitney.errors import InvalidInput, Unsupported


def branch(
    name: str, nodes: list[onnx.NodeProto], output: str, initializers: list[onnx.TensorProto] | None = None
) -> onnx.GraphProto:
    return helper.make_graph(nodes, name, [], [value(output)], initializers or [])


@pytest.mark.parametrize("opset", versions("If"))
@pytest.mark.parametrize("condition", [True, False])
def test_branches_capture_values_and_constants(opset: int, condition: bool) -> None:
    weight = numpy_helper.from_array(floats(4, seed=3), "w")
    then = branch("then", [helper.make_node("Mul", ["x", "h"], ["t"])], "t")
    otherwise = branch(
        "else",
        [helper.make_node("Add", ["x", "w"], ["e0"]), helper.make_node("Sub", ["e0", "own"], ["e"])],
        "e",
        [numpy_helper.from_array(floats(4, seed=5), "own")],
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["h"]),
        helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise),
        helper.make_node("Neg", ["y"], ["z"]),
    ]
    model = model_of(nodes, [value("c", [], TensorProto.BOOL), value("x", ["N", 4])], [value("z")], [weight], opset)
    check_model(model, {"c": np.array(condition), "x": floats(3, 4)})


@pytest.mark.parametrize("outer", [True, False])
@pytest.mark.parametrize("inner", [True, False])
def test_nested_branches_capture_through_each_other(outer: bool, inner: bool) -> None:
    deep = helper.make_node(
        "If",
        ["b"],
        ["d"],
        then_branch=branch("dt", [helper.make_node("Add", ["x", "k"], ["p"])], "p"),
        else_branch=branch("de", [helper.make_node("Identity", ["x"], ["q"])], "q"),
    )
    nodes = [
        helper.make_node("Exp", ["x"], ["k"]),
        helper.make_node(
            "If",
            ["a"],
            ["y"],
            then_branch=branch("t", [deep], "d"),
            else_branch=branch("e", [helper.make_node("Neg", ["k"], ["n"])], "n"),
        ),
    ]
    infos = [value("a", [], TensorProto.BOOL), value("b", [], TensorProto.BOOL), value("x", [2, 3])]
    check_model(model_of(nodes, infos, [value("y")]), {"a": np.array(outer), "b": np.array(inner), "x": floats(2, 3)})


def test_the_condition_may_be_computed_from_a_shape() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Equal", ["n", "one"], ["c"]),
        helper.make_node(
            "If",
            ["c"],
            ["y"],
            then_branch=branch("t", [helper.make_node("Squeeze", ["x", "axes"], ["t0"])], "t0"),
            else_branch=branch("e", [helper.make_node("ReduceSum", ["x", "axes"], ["e0"], keepdims=0)], "e0"),
        ),
    ]
    numbers = {"zero": np.array(0), "one": np.array(1), "axes": np.array([0])}
    initializers = [numpy_helper.from_array(array.astype(np.int64), name) for name, array in numbers.items()]
    model = model_of(nodes, [value("x", ["N", 3])], [value("y")], initializers)
    check_model(model, {"x": floats(1, 3)})
    check_model(model, {"x": floats(4, 3)})


def test_a_constant_condition() -> None:
    for condition in (True, False):
        node = helper.make_node(
            "If",
            ["c"],
            ["y"],
            then_branch=branch("t", [helper.make_node("Relu", ["x"], ["t0"])], "t0"),
            else_branch=branch("e", [helper.make_node("Neg", ["x"], ["e0"])], "e0"),
        )
        model = model_of([node], [value("x", [2, 3])], [value("y")], [numpy_helper.from_array(np.array(condition), "c")])
        check_model(model, {"x": floats(2, 3)})


def test_both_branches_have_all_captured_values_as_inputs() -> None:
    node = helper.make_node(
        "If",
        ["c"],
        ["y"],
        then_branch=branch("t", [helper.make_node("Relu", ["a"], ["t0"])], "t0"),
        else_branch=branch("e", [helper.make_node("Neg", ["b"], ["e0"])], "e0"),
    )
    model = model_of([node], [value("c", [], TensorProto.BOOL), value("a", [2]), value("b", [2])], [value("y")])
    lowered = lower(load(model)).graph.nodes[0]
    assert [operand.name for operand in lowered.inputs if operand is not None] == ["c", "a", "b"]
    for _, graph in lowered.subgraphs():
        assert [inner.name for inner in graph.inputs] == ["a", "b"]


def test_a_branch_that_is_never_taken_need_not_be_convertible() -> None:
    """Decided by a constant, or by a size that the model fixes."""
    nodes = [
        helper.make_node("Size", ["x"], ["n"]),
        helper.make_node("Equal", ["n", "six"], ["c"]),
        helper.make_node(
            "If",
            ["c"],
            ["y"],
            then_branch=branch("t", [helper.make_node("Relu", ["x"], ["t0"])], "t0"),
            else_branch=branch("e", [helper.make_node("RegexFullMatch", ["x"], ["e0"])], "e0"),
        ),
    ]
    six = numpy_helper.from_array(np.array(6, np.int64), "six")
    model = model_of(nodes, [value("x", [2, 3])], [value("y")], [six])
    check_model(model, {"x": floats(2, 3)})
    with pytest.raises(Unsupported, match="RegexFullMatch"):
        lower(load(model), sizes_are_final=False)


def test_a_model_local_function() -> None:
    body = [
        helper.make_node("Mul", ["a", "b"], ["m"]),
        helper.make_node("LeakyRelu", ["m"], ["r"]),
    ]
    body[1].attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    function = helper.make_function("my", "F", ["a", "b"], ["r"], body, [helper.make_opsetid("", 17)], attributes=["slope"])
    nodes = [
        helper.make_node("F", ["x", "x"], ["y"], domain="my", slope=0.2),
        helper.make_node("F", ["y", "x"], ["z"], domain="my", slope=0.5),
    ]
    model = model_of(nodes, [value("x", [2, 3])], [value("z")])
    model.opset_import.append(helper.make_opsetid("my", 1))
    model.functions.append(function)
    check_model(model, {"x": floats(2, 3)})


@pytest.mark.parametrize("decided", [True, False])
def test_25_nested_branches(decided: bool) -> None:
    """On conditions that the input's values or its size decide; each level captures values of all levels above."""

    def level(depth: int) -> list[onnx.NodeProto]:
        here, below, condition = f"h{depth}", f"h{depth + 1}", f"c{depth}"
        if depth == 25:
            return [helper.make_node("Add", ["x", f"e{depth - 1}"], [here])]
        measure = helper.make_node("Size" if decided else "ReduceMax", [f"e{depth - 1}" if depth else "x"], [f"m{depth}"])
        if not decided:
            measure.attribute.append(helper.make_attribute("keepdims", 0))
        return [
            helper.make_node("Tanh" if depth % 2 else "Neg", [f"e{depth - 1}" if depth else "x"], [f"e{depth}"]),
            measure,
            helper.make_node("Less", [f"m{depth}", "limits" if decided else "half"], [condition]),
            helper.make_node(
                "If",
                [condition],
                [here],
                then_branch=branch(f"t{depth}", level(depth + 1), below),
                else_branch=branch(f"e{depth}", [helper.make_node("Mul", ["x", f"e{depth // 2}"], [f"o{depth}"])], f"o{depth}"),
            ),
        ]

    constants = [numpy_helper.from_array(np.array(0.5, np.float32), "half"), numpy_helper.from_array(np.array(3), "limits")]
    model = model_of(level(0), [value("x", ["N"])], [value("h0")], constants)
    for array in ([0.1, -0.2], [-3, 0.1], [0.3, 2, -1]):
        check_model(model, {"x": np.array(array, np.float32)})


def test_recurrent_layers_in_branches_and_loops() -> None:
    weights = {"w": floats(1, 16, 3, seed=1), "r": floats(1, 16, 4, seed=2)}
    lstm = helper.make_node("LSTM", ["x", "w", "r", "", "", "h", "c"], ["", "h2", "c2"], hidden_size=4)
    then = helper.make_graph([lstm], "then", [], [value("h2"), value("c2")])
    same = [helper.make_node("Identity", [name], [f"{name}3"]) for name in "hc"]
    otherwise = helper.make_graph(same, "else", [], [value("h3"), value("c3")])
    nodes = [
        helper.make_node("ReduceSum", ["h"], ["sum"], keepdims=0),
        helper.make_node("Less", ["sum", "limit"], ["small"]),
        helper.make_node("If", ["small"], ["h4", "c4"], then_branch=then, else_branch=otherwise),
        helper.make_node("Identity", ["go"], ["go_out"]),
    ]
    inputs = [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("h"), value("c")]
    body = helper.make_graph(nodes, "body", inputs, [value("go_out", [], TensorProto.BOOL), value("h4"), value("c4")])
    loop = helper.make_node("Loop", ["n", "", "h0", "c0"], ["h_last", "c_last"], body=body)
    constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    constants.append(numpy_helper.from_array(np.array(0.8, np.float32), "limit"))
    infos = [value("n", [], TensorProto.INT64), value("x", ["T", "B", 3]), value("h0", [1, "B", 4]), value("c0", [1, "B", 4])]
    model = model_of([loop], infos, [value("h_last"), value("c_last")], constants)
    for trips in (4, 1):
        check_model(
            model, {"n": np.array(trips), "x": floats(5, 2, 3), "h0": floats(1, 2, 4, seed=3), "c0": floats(1, 2, 4, seed=4)}
        )


def _fitting(then_width: int, else_width: int) -> onnx.ModelProto:
    """Branches that take x of [?, 4 or 3], say, each with a product, and a node that needs to know its rank."""

    def product(name: str, width: int) -> onnx.GraphProto:
        nodes = [
            helper.make_node("MatMul", ["x", f"{name}_w"], [f"{name}_m"]),
            helper.make_node("Squeeze", [f"{name}_m", f"{name}_axes"], [f"{name}_s"]),
            helper.make_node("Transpose", [f"{name}_s"], [f"{name}_t"], perm=[1, 0]),
        ]
        weights = [
            numpy_helper.from_array(floats(width, 5), f"{name}_w"),
            numpy_helper.from_array(np.array([0]), f"{name}_axes"),
        ]
        return branch(name, nodes, f"{name}_t", weights)

    nodes = [
        helper.make_node("If", ["c"], ["r"], then_branch=product("a", then_width), else_branch=product("b", else_width)),
        helper.make_node("Neg", ["r"], ["y"]),
    ]
    return model_of(nodes, [value("c", [], TensorProto.BOOL), value("x", ["B", "N", "K"])], [value("y")])


@pytest.mark.parametrize("fits", [True, False])
def test_a_branch_may_contradict_itself_until_it_is_taken(fits: bool) -> None:
    model = _fitting(4, 3) if fits else _fitting(3, 4)
    session = jitney.Session(convert_to_bytes(model, shapes={"x": (1, 2, 4)}))
    assert session.outputs[0].shape == (5, 2)
    x = floats(1, 2, 4)
    weight = next(
        tensor
        for attribute in model.graph.node[0].attribute
        for tensor in attribute.g.initializer
        if tensor.name.endswith("_w") and tensor.dims[0] == 4
    )
    expected = -(x[0] @ numpy_helper.to_array(weight)).T
    np.testing.assert_allclose(session.run({"c": np.array(fits), "x": x})["y"], expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(InvalidInput, match=r"matmul node '[ab]_m'"):
        session.run({"c": np.array(not fits), "x": x})


def test_two_branches_that_contradict_themselves_are_an_error() -> None:
    """The sizes given are to blame: others suit one of them."""
    with pytest.raises(InvalidInput, match=r"MatMul node '[ab]_m'"):
        convert_to_bytes(_fitting(3, 5), shapes={"x": (1, 2, 4)})
