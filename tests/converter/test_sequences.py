"""Sequences and optionals inside models: fixed lists, lists that loops build or walk, and what cannot be converted."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from op_check import Array, check_model, convert_bytes, floats, model_of, run_jny, value

from jitney.errors import InvalidModel, Unsupported

INT64, BOOL, FLOAT = TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT


def node(op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, inputs, outputs, **attributes)


def const(name: str, data: Any, dtype: Any = None) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(data, dtype), name)


def sequence(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_sequence_value_info(name, FLOAT, None)


def model(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[str],
    initializers: list[onnx.TensorProto] | None = None,
    opset: int = 17,
) -> onnx.ModelProto:
    numbers = [const("0", 0), const("1", 1), const("-1", -1), const("-2", -2), const("2", 2)]
    return model_of(
        nodes, inputs, [helper.make_empty_tensor_value_info(name) for name in outputs], [*numbers, *(initializers or [])], opset
    )


def body(nodes: list[onnx.NodeProto], carried: list[onnx.ValueInfoProto], outputs: list[onnx.ValueInfoProto]) -> onnx.GraphProto:
    nodes = [*nodes, node("Identity", ["go"], ["go_out"])]
    inputs = [value("i", [], INT64), value("go", [], BOOL), *carried]
    return helper.make_graph(nodes, "body", inputs, [value("go_out", [], BOOL), *outputs])


def branch(nodes: list[onnx.NodeProto], outputs: list[onnx.ValueInfoProto]) -> onnx.GraphProto:
    return helper.make_graph(nodes, "branch", [], outputs)


def test_a_fixed_list_is_inserted_into_erased_from_and_joined() -> None:
    nodes = [
        node("SequenceEmpty", [], ["s0"]),
        node("SequenceInsert", ["s0", "x"], ["s1"]),
        node("SequenceInsert", ["s1", "y", "0"], ["s2"]),
        node("SequenceInsert", ["s2", "z", "-1"], ["s3"]),
        node("SequenceErase", ["s3", "-2"], ["s4"]),
        node("SequenceErase", ["s3"], ["s5"]),
        node("SequenceLength", ["s4"], ["count"]),
        node("SequenceAt", ["s3", "-1"], ["last"]),
        node("SequenceAt", ["s3", "1"], ["second"]),
        node("ConcatFromSequence", ["s3"], ["all"], axis=-1),
        node("ConcatFromSequence", ["s5"], ["stacked"], axis=-1, new_axis=1),
        node("SequenceConstruct", ["x", "z"], ["s6"]),
        node("ConcatFromSequence", ["s6"], ["pair"], axis=1, new_axis=1),
    ]
    made = model(nodes, [value(name, ["A", 2]) for name in "xyz"], ["count", "last", "second", "all", "stacked", "pair"])
    check_model(made, {name: floats(3, 2, seed=seed) for seed, name in enumerate("xyz")})


@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("dims", [[3, 4], ["A", "B"]])
def test_split_into_single_rows(dims: list[int | str], axis: int, keep: int) -> None:
    nodes = [
        node("SplitToSequence", ["x"], ["s"], axis=axis, keepdims=keep),
        node("SequenceLength", ["s"], ["count"]),
        node("SequenceAt", ["s", "-1"], ["last"]),
        node("SequenceAt", ["s", "position"], ["other"]),
        node("ConcatFromSequence", ["s"], ["stacked"], axis=1, new_axis=1),
        node("ConcatFromSequence", ["s"], ["joined"], axis=0),
    ]
    made = model(nodes, [value("x", dims), value("position", [], INT64)], ["count", "last", "other", "stacked", "joined"])
    check_model(made, {"x": floats(3, 4), "position": np.array(-2)})


def test_split_into_parts() -> None:
    nodes = [
        node("SplitToSequence", ["x", "2"], ["s"], axis=1),
        node("SequenceAt", ["s", "-1"], ["last"]),
        node("SplitToSequence", ["x", "sizes"], ["t"], axis=1),
        node("SequenceAt", ["t", "1"], ["second"]),
        node("SequenceLength", ["t"], ["count"]),
        node("ConcatFromSequence", ["s"], ["joined"], axis=1),
    ]
    made = model(nodes, [value("x", ["A", 5]), value("sizes", [3], INT64)], ["last", "second", "count", "joined"])
    check_model(made, {"x": floats(2, 5), "sizes": np.array([1, 3, 1])})


def appending(
    inner: list[onnx.NodeProto], trips: str, new_axis: int, axis: int, *, before: list[onnx.NodeProto] | None = None
) -> list[onnx.NodeProto]:
    graph = body([*inner, node("SequenceInsert", ["s", "e"], ["s_out"])], [sequence("s")], [sequence("s_out")])
    return [
        *(before or []),
        node("SequenceEmpty", [], ["none"]),
        node("Loop", [trips, "", "none"], ["list"], body=graph),
        node("ConcatFromSequence", ["list"], ["y"], axis=axis, new_axis=new_axis),
    ]


@pytest.mark.parametrize("trips", ["n", "2"])
@pytest.mark.parametrize(("new_axis", "axis"), [(1, 0), (1, 2), (1, -2), (0, 0), (0, 1), (0, -2)])
def test_a_loop_appends(trips: str, new_axis: int, axis: int) -> None:
    inner = [node("Cast", ["i"], ["f"], to=FLOAT), node("Add", ["x", "f"], ["e"])]
    made = model(appending(inner, trips, new_axis, axis), [value("n", [], INT64), value("x", ["A", "B"])], ["y"])
    for count in (3, 1):
        check_model(made, {"n": np.array(count), "x": floats(2, 3)})


def test_a_loop_appends_tensors_of_many_sizes() -> None:
    inner = [
        node("Unsqueeze", ["i", "axes"], ["end"]),
        node("Slice", ["x", "start", "end", "one"], ["e"]),
    ]
    constants = [const("axes", [0]), const("start", [0]), const("one", [1])]
    for axis in (1, -1):
        made = model(appending(inner, "n", 0, axis), [value("n", [], INT64), value("x", [2, "B"])], ["y"], constants)
        check_model(made, {"n": np.array(4), "x": floats(2, 3)})


def test_a_loop_walks_a_sequence_and_appends_to_another() -> None:
    """What torch.stack([f(row) for row in x]) is exported as."""
    inner = [node("SequenceAt", ["rows", "i"], ["row"]), node("Mul", ["row", "w"], ["m"]), node("Tanh", ["m"], ["e"])]
    before = [node("SplitToSequence", ["x"], ["rows"], axis=1, keepdims=0), node("SequenceLength", ["rows"], ["count"])]
    made = model(appending(inner, "count", 1, 1, before=before), [value("x", ["A", "T", 2]), value("w", [2])], ["y"])
    for length in (5, 1, 100):
        check_model(made, {"x": floats(3, length, 2), "w": floats(2, seed=1)})
    assert run_jny(made, {"x": floats(3, 0, 2), "w": floats(2)})["y"].shape == (3, 0, 2)


def test_a_sequence_that_a_loop_appends_to_is_read_later() -> None:
    inner = [node("Cast", ["i"], ["f"], to=FLOAT), node("Add", ["x", "f"], ["e"])]
    nodes = [
        *appending(inner, "n", 1, 0)[1:],
        node("SequenceInsert", ["list", "x"], ["longer"]),
        node("SequenceLength", ["longer"], ["count"]),
        node("SequenceAt", ["longer", "p"], ["some"]),
        node("ConcatFromSequence", ["longer"], ["all"], axis=1),
    ]
    nodes.insert(0, node("SequenceConstruct", ["x", "x"], ["none"]))
    made = model(nodes, [value("n", [], INT64), value("p", [], INT64), value("x", ["A", "B"])], ["count", "some", "all", "y"])
    for position in (0, 3, -1, -2):
        check_model(made, {"n": np.array(3), "p": np.array(position), "x": floats(2, 3)})


def test_nested_loops_append_to_one_sequence() -> None:
    names = {"i": "j", "go": "on", "go_out": "on_out", "s": "t", "s_out": "t_out"}
    inner = body(
        [node("Add", ["x", "f"], ["e"]), node("SequenceInsert", ["s", "e"], ["s_out"])], [sequence("s")], [sequence("s_out")]
    )
    for info in (*inner.input, *inner.output):
        info.name = names.get(info.name, info.name)
    for each in inner.node:
        each.input[:] = [names.get(name, name) for name in each.input]
        each.output[:] = [names.get(name, name) for name in each.output]
    outer = body(
        [node("Cast", ["i"], ["f"], to=FLOAT), node("Loop", ["m", "", "s"], ["s_out"], body=inner)],
        [sequence("s")],
        [sequence("s_out")],
    )
    nodes = [
        node("SequenceEmpty", [], ["none"]),
        node("Loop", ["n", "", "none"], ["list"], body=outer),
        node("ConcatFromSequence", ["list"], ["y"], axis=0, new_axis=1),
        node("ConcatFromSequence", ["list"], ["z"], axis=1),
    ]
    made = model(nodes, [value("n", [], INT64), value("m", [], INT64), value("x", [2, 2])], ["y", "z"])
    check_model(made, {"n": np.array(3), "m": np.array(2), "x": floats(2, 2)})


def test_a_loop_appends_now_and_then() -> None:
    then = branch([node("SequenceInsert", ["s", "row"], ["s_then"])], [sequence("s_then")])
    otherwise = branch([node("Identity", ["s"], ["s_else"])], [sequence("s_else")])
    inner = [
        node("Gather", ["x", "i"], ["row"], axis=0),
        node("ReduceSum", ["row"], ["sum"], keepdims=0),
        node("Greater", ["sum", "zero"], ["positive"]),
        node("If", ["positive"], ["s_out"], then_branch=then, else_branch=otherwise),
    ]
    graph = body(inner, [sequence("s")], [sequence("s_out")])
    nodes = [
        node("SequenceEmpty", [], ["none"]),
        node("Loop", ["n", "", "none"], ["list"], body=graph),
        node("ConcatFromSequence", ["list"], ["y"], axis=0, new_axis=1),
        node("SequenceLength", ["list"], ["count"]),
    ]
    made = model(nodes, [value("n", [], INT64), value("x", ["T", "C"])], ["y", "count"], [const("zero", 0, np.float32)])
    rows = np.array([[-1, -1], [1, 2], [-3, 1], [4, 0], [-1, 0]], np.float32)
    check_model(made, {"n": np.array(5), "x": rows})
    check_model(made, {"n": np.array(4), "x": rows[::-1].copy()})


def test_a_loop_changes_a_sequence_in_other_ways_if_its_trips_are_known() -> None:
    inner = [
        node("SequenceAt", ["s", "-1"], ["last"]),
        node("Add", ["last", "last"], ["e"]),
        node("SequenceErase", ["s", "0"], ["shorter"]),
        node("SequenceInsert", ["shorter", "e"], ["s_out"]),
    ]
    graph = body(inner, [sequence("s")], [sequence("s_out")])

    def made(trips: str) -> onnx.ModelProto:
        nodes = [
            node("SequenceConstruct", ["x", "x"], ["start"]),
            node("Loop", [trips, "", "start"], ["list"], body=graph),
            node("ConcatFromSequence", ["list"], ["y"], axis=0),
        ]
        return model(nodes, [value("n", [], INT64), value("x", ["A"])], ["y"], [const("three", 3)])

    check_model(made("three"), {"n": np.array(3), "x": floats(2)})
    with pytest.raises(Unsupported, match="other ways than by appending") as caught:
        convert_bytes(made("n"))
    assert "unrolled" in caught.value.hint


def test_a_sequence_that_passes_through_a_loop() -> None:
    inner = [
        node("SequenceAt", ["s", "0"], ["first"]),
        node("Add", ["v", "first"], ["v_out"]),
        node("Identity", ["s"], ["s_out"]),
    ]
    graph = body(inner, [sequence("s"), value("v")], [sequence("s_out"), value("v_out")])
    nodes = [
        node("SequenceConstruct", ["x", "y"], ["start"]),
        node("Loop", ["n", "", "start", "y"], ["list", "sum"], body=graph),
        node("SequenceAt", ["list", "1"], ["second"]),
    ]
    made = model(nodes, [value("n", [], INT64), value("x", ["A"]), value("y", ["A"])], ["sum", "second"])
    check_model(made, {"n": np.array(3), "x": floats(2), "y": floats(2, seed=1)})


def test_branches_return_sequences() -> None:
    then = branch([node("SequenceConstruct", ["x", "y"], ["t"])], [sequence("t")])
    otherwise = branch([node("SequenceConstruct", ["y", "x"], ["e"])], [sequence("e")])
    shorter = branch([node("SequenceConstruct", ["y"], ["f"])], [sequence("f")])
    empty = branch([node("SequenceEmpty", [], ["g"])], [sequence("g")])
    nodes = [
        node("If", ["c"], ["a"], then_branch=then, else_branch=otherwise),
        node("SequenceAt", ["a", "0"], ["first"]),
        node("If", ["c"], ["b"], then_branch=then, else_branch=shorter),
        node("ConcatFromSequence", ["b"], ["joined"], axis=0),
        node("SequenceLength", ["b"], ["count"]),
        node("If", ["c"], ["d"], then_branch=then, else_branch=empty),
        node("SequenceLength", ["d"], ["some"]),
    ]
    inputs = [value("c", [], BOOL), value("x", ["A"]), value("y", ["A"])]
    made = model(nodes, inputs, ["first", "joined", "count", "some"])
    for condition in (True, False):
        check_model(made, {"c": np.array(condition), "x": floats(2), "y": floats(2, seed=1)})


def test_optionals() -> None:
    kind = helper.make_tensor_type_proto(FLOAT, ["A"])
    nodes = [
        node("Optional", ["x"], ["o"]),
        node("Optional", [], ["none"], type=kind),
        node("OptionalHasElement", ["o"], ["has"]),
        node("OptionalHasElement", ["none"], ["has_not"]),
        node("OptionalGetElement", ["o"], ["e"]),
        node("Neg", ["e"], ["y"]),
    ]
    feeds: dict[str, Array] = {"x": floats(2)}
    results = run_jny(model(nodes, [value("x", ["A"])], ["has", "has_not", "y"]), feeds)
    assert (results["has"], results["has_not"]) == (True, False)
    np.testing.assert_array_equal(results["y"], -feeds["x"])
    with pytest.raises(InvalidModel, match="holds none"):
        convert_bytes(model([nodes[1], node("OptionalGetElement", ["none"], ["y"])], [value("x", ["A"])], ["y"]))


@pytest.mark.parametrize("dims", [[3, 2], ["T", 2]])
def test_sequence_map(dims: list[int | str]) -> None:
    graph = helper.make_graph([node("Add", ["a", "b"], ["c"])], "g", [value("a"), value("b")], [value("c")])
    nodes = [
        node("SplitToSequence", ["x"], ["s"], axis=0),
        node("SequenceMap", ["s", "k"], ["t"], body=graph),
        node("ConcatFromSequence", ["t"], ["y"], axis=0),
    ]
    made = model(nodes, [value("x", dims), value("k", [1])], ["y"])
    feeds = {"x": floats(3, 2), "k": floats(1, seed=1)}
    np.testing.assert_allclose(run_jny(made, feeds)["y"], feeds["x"] + feeds["k"])


def test_sequences_at_the_edge_of_a_model_are_refused_with_advice() -> None:
    nodes = [node("SequenceConstruct", ["x"], ["s"])]
    made = model_of(nodes, [value("x", [2])], [sequence("s")])
    with pytest.raises(Unsupported, match="a sequence of tensors") as caught:
        convert_bytes(made)
    assert "ConcatFromSequence" in caught.value.hint
    with pytest.raises(Unsupported, match="no tensor but a sequence"):
        convert_bytes(model_of([node("SequenceLength", ["s"], ["n"])], [sequence("s")], [value("n")]))
    with pytest.raises(InvalidModel, match="is a sequence, which this op does not take"):
        convert_bytes(model([*nodes, node("Neg", ["s"], ["y"])], [value("x", [2])], ["y"]))


def test_a_scalar_cannot_be_split() -> None:
    with pytest.raises(InvalidModel, match="splits a scalar"):
        convert_bytes(
            model([node("SplitToSequence", ["x"], ["s"]), node("SequenceLength", ["s"], ["y"])], [value("x", [])], ["y"])
        )


def test_positions_outside_a_sequence() -> None:
    for op, inputs in (("SequenceAt", ["s", "2"]), ("SequenceErase", ["s", "-2"])):
        nodes = [node("SequenceConstruct", ["x"], ["s"]), node(op, inputs, ["y"])]
        with pytest.raises(InvalidModel, match="a sequence of 1 tensors"):
            convert_bytes(model(nodes, [value("x", [2])], ["y"]))
