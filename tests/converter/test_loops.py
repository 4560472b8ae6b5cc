"""Loop and Scan: every version, captured values, trips of all kinds, nesting, and values whose shape changes on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from op_check import Array, check_model, convert_bytes, floats, model_of, references, run_jny, value, versions

from jitney import Session
from jitney.errors import InvalidInput, InvalidModel, Unsupported

INT64, BOOL, FLOAT = TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT
Node = onnx.NodeProto


def const(name: str, data: Any, dtype: Any = None) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(data, dtype), name)


def body(
    nodes: list[Node],
    carried: list[str],
    outputs: list[str],
    initializers: list[onnx.TensorProto] | None = None,
    condition: str = "go",
    dtype: int = FLOAT,
) -> onnx.GraphProto:
    """A Loop's body with inputs i, go and the carried ones; `outputs` come after the condition."""
    inputs = [value("i", [], INT64), value("go", [], BOOL), *(value(name, None, dtype) for name in carried)]
    nodes = [helper.make_node("Identity", [condition], ["go_out"]), *nodes]
    results = [value("go_out", [], BOOL), *(helper.make_empty_tensor_value_info(name) for name in outputs)]
    order = sorted(nodes, key=lambda node: node.output[0] == "go_out")  # the condition may be computed
    return helper.make_graph(order, "body", inputs, results, initializers or [])


def looping(
    graph: onnx.GraphProto,
    operands: list[str],
    results: list[str],
    inputs: list[onnx.ValueInfoProto],
    *,
    before: list[Node] | None = None,
    after: list[Node] | None = None,
    outputs: list[str] | None = None,
    initializers: list[onnx.TensorProto] | None = None,
    opset: int = 17,
) -> onnx.ModelProto:
    nodes = [*(before or []), helper.make_node("Loop", operands, results, name="loop", body=graph), *(after or [])]
    infos = [helper.make_empty_tensor_value_info(name) for name in outputs or results]
    return model_of(nodes, inputs, infos, initializers or [], opset)


@pytest.mark.parametrize("opset", versions("Loop"))
def test_carried_gathered_and_captured_values(opset: int) -> None:
    nodes = [
        helper.make_node("MatMul", ["h", "w"], ["m"]),
        helper.make_node("Add", ["m", "x"], ["s"]),
        helper.make_node("Tanh", ["s"], ["h2"]),
        helper.make_node("ReduceMax", ["h2"], ["top"], keepdims=0),
    ]
    graph = body(nodes, ["h"], ["h2", "top", "h2"])
    model = looping(
        graph,
        ["n", "", "h0"],
        ["h_last", "tops", "all"],
        [value("n", [], INT64), value("h0", ["B", 4]), value("x", ["B", 4])],
        initializers=[const("w", floats(4, 4, seed=1))],
        after=[helper.make_node("Neg", ["all"], ["y"])],
        outputs=["h_last", "tops", "y"],
        opset=opset,
    )
    feeds = {"h0": floats(2, 4), "x": floats(2, 4, seed=2)}
    for trips in (3, 1):
        check_model(model, feeds | {"n": np.array(trips)})
    for trips in (0, -2):  # ONNX Runtime returns shape [0] where it cannot tell the rank
        results = run_jny(model, feeds | {"n": np.array(trips)})
        assert [array.shape for array in results.values()] == [(2, 4), (0,), (0, 2, 4)]
        np.testing.assert_array_equal(results["h_last"], feeds["h0"])


def counting(start: bool, limit: bool, *, vector: bool = False) -> onnx.ModelProto:
    """Doubles x until its sum passes 100, with the operands that are asked for."""
    nodes = [
        helper.make_node("Add", ["v", "v"], ["v2"]),
        helper.make_node("ReduceSum", ["v2"], ["sum"], keepdims=int(vector)),
        helper.make_node("Less", ["sum", "hundred"], ["less"]),
        helper.make_node("Reshape", ["less", "one" if vector else "none"], ["next"]),
    ]
    constants = [const("hundred", 100, np.float32), const("one", [1]), const("none", np.zeros(0, np.int64))]
    nodes += [helper.make_node("Reshape", ["i", "none"], ["number"])]
    graph = body(nodes, ["v"], ["v2", "number"], constants, condition="next")
    inputs = [value("x", ["N"])]
    inputs += [value("n", [1] if vector else [], INT64)] if limit else []
    inputs += [value("c", [1] if vector else [], BOOL)] if start else []
    if vector:
        for index in (0, 1):
            graph.input[index].type.tensor_type.shape.dim.add().dim_value = 1
    return looping(graph, ["n" if limit else "", "c" if start else "", "x"], ["last", "numbers"], inputs)


@pytest.mark.parametrize("vector", [False, True])
def test_a_condition_ends_the_loop(vector: bool) -> None:
    feeds: dict[str, Array] = {"x": np.array([1, 2, 3], np.float32)}
    shape = (1,) if vector else ()
    check_model(counting(False, False, vector=vector), feeds)
    for limit in (2, 2**62):
        check_model(counting(False, True, vector=vector), feeds | {"n": np.full(shape, limit)})
    for start in (True, False):
        check_model(counting(True, False, vector=vector), feeds | {"c": np.full(shape, start)})
        check_model(counting(True, True, vector=vector), feeds | {"c": np.full(shape, start), "n": np.full(shape, 3)})


def test_a_carried_value_that_grows() -> None:
    nodes = [helper.make_node("Concat", ["v", "x"], ["v2"], axis=0), helper.make_node("ReduceSum", ["v2"], ["s"], keepdims=0)]
    model = looping(
        body(nodes, ["v"], ["v2", "s"]),
        ["n", "", "v0"],
        ["v", "sums"],
        [value("n", [], INT64), value("v0", ["A", 2]), value("x", ["B", 2])],
    )
    for trips in (4, 0, 1):
        check_model(model, {"n": np.array(trips), "v0": floats(1, 2), "x": floats(3, 2, seed=1)})
    check_model(model, {"n": np.array(4), "v0": floats(0, 2), "x": floats(2, 2, seed=1)})


def test_a_carried_value_that_changes_its_rank() -> None:
    nodes = [helper.make_node("Unsqueeze", ["v", "axes"], ["v2"])]
    model = looping(
        body(nodes, ["v"], ["v2"], [const("axes", [0])]), ["n", "", "x"], ["y"], [value("n", [], INT64), value("x", [2])]
    )
    for trips in (3, 0):
        check_model(model, {"n": np.array(trips), "x": floats(2)})


def test_lowering_does_not_trust_the_shape_that_a_value_starts_with() -> None:
    """The axis -1 is 0 in the first iteration and 1 later; the branch that is taken differs too."""
    nodes = [
        helper.make_node("Softmax", ["v"], ["soft"], axis=-1),
        helper.make_node("Shape", ["soft"], ["shape"]),
        helper.make_node("Size", ["shape"], ["rank"]),
        helper.make_node("Equal", ["rank", "one"], ["flat"]),
        helper.make_node(
            "If",
            ["flat"],
            ["v2"],
            then_branch=helper.make_graph([helper.make_node("Expand", ["soft", "target"], ["t"])], "t", [], [value("t")]),
            else_branch=helper.make_graph([helper.make_node("Add", ["soft", "soft"], ["e"])], "e", [], [value("e")]),
        ),
    ]
    graph = body(nodes, ["v"], ["v2"], [const("one", 1), const("target", [2, 3])])
    check_model(
        looping(graph, ["n", "", "x"], ["y"], [value("n", [], INT64), value("x", [3])]), {"n": np.array(3), "x": floats(3)}
    )


def test_the_number_of_the_iteration_decides_shapes() -> None:
    nodes = [
        helper.make_node("Add", ["i", "one"], ["next"]),
        helper.make_node("Reshape", ["i", "vector"], ["start"]),
        helper.make_node("Reshape", ["next", "vector"], ["end"]),
        helper.make_node("Slice", ["x", "start", "end", "axes"], ["row"]),
        helper.make_node("Range", ["zero", "next", "one"], ["range"]),
        helper.make_node("ReduceSum", ["range"], ["s"], keepdims=0),
        helper.make_node("Cast", ["s"], ["f"], to=FLOAT),
        helper.make_node("Mul", ["row", "f"], ["out"]),
        helper.make_node("Add", ["v", "out"], ["v2"]),
    ]
    graph = body(nodes, ["v"], ["v2", "out"], [const("one", 1), const("zero", 0), const("vector", [1]), const("axes", [1])])
    before = [helper.make_node("Shape", ["x"], ["shape"]), helper.make_node("Gather", ["shape", "one"], ["n"])]
    model = looping(
        graph,
        ["n", "", "v0"],
        ["v", "rows"],
        [value("x", [2, "T"]), value("v0", [2, 1])],
        before=before,
        initializers=[const("one", 1)],
    )
    for length in (5, 200):
        check_model(model, {"x": floats(2, length), "v0": floats(2, 1)})
    assert run_jny(model, {"x": floats(2, 0), "v0": floats(2, 1)})["rows"].shape == (0, 2, 0)


def renamed(graph: onnx.GraphProto, names: dict[str, str]) -> None:
    """Gives values new names: ONNX Runtime wants those of nested graphs to differ."""
    for info in (*graph.input, *graph.output):
        info.name = names.get(info.name, info.name)
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]


def test_loops_in_branches_in_loops() -> None:
    inner = body([helper.make_node("Add", ["a", "k"], ["a2"]), helper.make_node("Mul", ["a2", "x"], ["g"])], ["a"], ["a2", "g"])
    renamed(inner, {"i": "j", "go": "on", "go_out": "on_out"})
    then = helper.make_graph(
        [
            helper.make_node("Loop", ["i", "", "v"], ["va", "gs"], body=inner),
            helper.make_node("ReduceSum", ["gs"], ["total"], keepdims=0),
            helper.make_node("Add", ["va", "total"], ["t"]),
        ],
        "then",
        [],
        [value("t")],
    )
    otherwise = helper.make_graph([helper.make_node("Neg", ["v"], ["e"])], "else", [], [value("e")])
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["k"]),
        helper.make_node("ReduceSum", ["v"], ["sum"], keepdims=0),
        helper.make_node("Less", ["sum", "limit"], ["small"]),
        helper.make_node("If", ["small"], ["v2"], then_branch=then, else_branch=otherwise),
    ]
    graph = body(nodes, ["v"], ["v2", "sum"])
    model = looping(
        graph,
        ["n", "", "v0"],
        ["v", "sums"],
        [value("n", [], INT64), value("v0", ["N"]), value("x", [])],
        initializers=[const("limit", 3, np.float32)],
    )
    for trips in (6, 1, 0):
        check_model(model, {"n": np.array(trips), "v0": floats(3), "x": np.array(0.7, np.float32)})


def test_sizes_known_only_at_run_time_inside_a_loop() -> None:
    nodes = [
        helper.make_node("Sub", ["v", "one"], ["v2"]),
        helper.make_node("Greater", ["v2", "zero"], ["positive"]),
        helper.make_node("NonZero", ["positive"], ["where"]),
        helper.make_node("Size", ["where"], ["count"]),
    ]
    graph = body(nodes, ["v"], ["v2", "count"], [const("one", 1, np.float32), const("zero", 0, np.float32)])
    model = looping(graph, ["n", "", "x"], ["y", "counts"], [value("n", [], INT64), value("x", ["N"])])
    check_model(model, {"n": np.array(4), "x": np.array([1.5, 3.5, 0.5, 9], np.float32)})


def test_values_that_pass_through_and_are_exchanged() -> None:
    nodes = [helper.make_node("Neg", ["a"], ["m"]), helper.make_node("Identity", ["x"], ["x2"])]
    graph = body(nodes, ["a", "b", "c", "d"], ["b", "a", "c", "m", "d", "x2"])
    inputs = [value("n", [], INT64), value("x", [2]), *(value(name, [2]) for name in "pqrs")]
    model = looping(graph, ["n", "", "p", "q", "r", "s"], ["A", "B", "C", "D", "ds", "xs"], inputs)
    for trips in (3, 4):
        feeds = {name: floats(2, seed=seed) for seed, name in enumerate("pqrsx")}
        check_model(model, {"n": np.array(trips)} | feeds)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int64, np.int32, np.uint8])
def test_element_types(dtype: Any) -> None:
    number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = body([helper.make_node("Where", ["flag", "a", "b"], ["a2"])], ["a"], ["a2", "a"], dtype=number)
    inputs = [value("n", [], INT64), value("flag", [3], BOOL), value("a0", [3], number), value("b", [3], number)]
    model = looping(graph, ["n", "", "a0"], ["y", "ys"], inputs)
    feeds = {
        "n": np.array(20),
        "flag": np.array([True, False, True]),
        "a0": np.array([1, 0, 1], dtype),
        "b": np.array([0, 1, 1], dtype),
    }
    check_model(model, feeds)


SCAN_BODY = [
    helper.make_node("Add", ["h", "x"], ["s"]),
    helper.make_node("Mul", ["s", "w"], ["h2"]),
    helper.make_node("Add", ["h2", "z"], ["out"]),
    helper.make_node("Identity", ["h2"], ["h2_again"]),
]


def scanning(opset: int, dims: list[int | str], z_dims: list[int | str], rank: int, **attributes: Any) -> onnx.ModelProto:
    outputs = [helper.make_empty_tensor_value_info(name) for name in ("h2", "out", "h2_again")]
    graph = helper.make_graph(
        SCAN_BODY,
        "body",
        [value("h", [None] * rank), value("x", [None] * rank), value("z", [None] * rank)],
        outputs,  # type: ignore[list-item]
    )
    names = ["h0", "xs", "zs"] if opset > 8 else ["", "h0", "xs", "zs"]
    node = helper.make_node("Scan", names, ["last", "outs", "states"], body=graph, num_scan_inputs=2, **attributes)
    infos = [value("h0", ["A"] * rank if opset > 8 else ["B", "A"]), value("xs", dims), value("zs", z_dims)]
    results = [helper.make_empty_tensor_value_info(name) for name in ("last", "outs", "states")]
    return model_of([node], infos, results, [const("w", 0.5, np.float32)], opset)


@pytest.mark.parametrize("opset", versions("Scan", least=9))
def test_scan(opset: int) -> None:
    model = scanning(opset, ["T", 3], ["T", 3], 1)
    for length in (4, 1, 150):
        check_model(model, {"h0": floats(3), "xs": floats(length, 3, seed=1), "zs": floats(length, 3, seed=2)})


@pytest.mark.parametrize("backward", [[0, 0], [1, 0], [0, 1]])
@pytest.mark.parametrize("axes", [[0, 1], [-1, 0]])
def test_scan_along_other_axes_and_backwards(axes: list[int], backward: list[int]) -> None:
    sizes = {0: [4, 3], 1: [3, 4], -1: [3, 4]}
    shapes = [sizes[axis] for axis in axes]
    dims: list[list[int | str]] = [[f"{name}{axis}" for axis in range(2)] for name in "xz"]
    attributes = {
        "scan_input_axes": axes,
        "scan_input_directions": backward,
        "scan_output_axes": [1, -1],
        "scan_output_directions": backward[::-1],
    }
    model = scanning(17, dims[0], dims[1], 1, **attributes)
    check_model(model, {"h0": floats(3), "xs": floats(*shapes[0], seed=1), "zs": floats(*shapes[1], seed=2)})


def scan_8(h0: Array, xs: Array, zs: Array, lengths: Array, backward: list[int]) -> list[Array]:
    """What the specification says; onnx's evaluator knows batches of one only."""
    last, outs, states = h0.copy(), np.zeros_like(xs), np.zeros_like(xs)
    for row, length in enumerate(lengths):
        h = h0[row]
        for t in range(length):
            x, z = (s[row][length - 1 - t if back else t] for s, back in zip((xs, zs), backward, strict=True))
            h = (h + x) * np.float32(0.5)
            outs[row, t], states[row, t] = h + z, h
        last[row] = h
    return [last, outs, states]


@pytest.mark.parametrize("backward", [[0, 0], [0, 1]])
@pytest.mark.parametrize("batch", [1, 3])
def test_scan_of_opset_8(batch: int, backward: list[int]) -> None:
    model = scanning(8, ["B", "T", 3], ["B", "T", 3], 1, directions=backward)
    feeds = {"h0": floats(batch, 3), "xs": floats(batch, 5, 3, seed=1), "zs": floats(batch, 5, 3, seed=2)}
    for lengths in (None, np.array([5, 2, 0][:batch], np.int64)):
        if lengths is not None:
            model.graph.node[0].input[0] = "lengths"
            model.graph.input.append(value("lengths", ["B"], INT64))
            feeds["lengths"] = lengths
        expected = scan_8(feeds["h0"], feeds["xs"], feeds["zs"], np.full(batch, 5) if lengths is None else lengths, backward)
        for name, wanted in zip(("last", "outs", "states"), expected, strict=True):
            np.testing.assert_allclose(run_jny(model, feeds)[name], wanted, rtol=1e-6)


def test_a_session_runs_loops_of_changing_shapes_over_and_over() -> None:
    model = scanning(17, ["T", 3], ["T", 3], 1)
    cases = [{"h0": floats(3, seed=t), "xs": floats(t, 3, seed=1), "zs": floats(t, 3, seed=2)} for t in (4, 2, 7)]
    expected = [next(references(model, feeds)) for feeds in cases]
    with Session(convert_bytes(model)) as session:
        for _ in range(3):
            for feeds, wanted in zip(cases, expected, strict=True):
                for name, array in session.run(feeds).items():
                    np.testing.assert_allclose(array, wanted[name], rtol=1e-5)


def test_what_is_wrong_with_a_body_is_said() -> None:
    inputs = [value("n", [], INT64), value("x", [2])]
    neg = [helper.make_node("Neg", ["v"], ["v2"])]
    short = body(neg, ["v", "more"], ["v2"])
    with pytest.raises(InvalidModel, match="has 4 inputs, but is given 3"):
        convert_bytes(looping(short, ["n", "", "x"], ["y"], inputs))
    with pytest.raises(InvalidModel, match="results"):
        convert_bytes(looping(body(neg, ["v"], []), ["n", "", "x"], ["y"], inputs))
    cast = body([helper.make_node("Cast", ["v"], ["v2"], to=INT64)], ["v"], ["v2"])
    with pytest.raises(InvalidModel, match="enters the body as FLOAT and leaves it as INT64"):
        convert_bytes(looping(cast, ["n", "", "x"], ["y"], inputs))
    many = body([helper.make_node("Concat", ["go", "go"], ["both"], axis=0)], ["v"], ["v"], condition="both")
    many.input[1].type.tensor_type.shape.dim.add().dim_value = 1
    with pytest.raises(InvalidModel, match="condition"):
        convert_bytes(looping(many, ["n", "", "x"], ["y"], inputs))


def test_a_loop_that_never_ends_is_refused() -> None:
    graph = body([helper.make_node("Neg", ["v"], ["v2"])], ["v"], ["v2"])
    with pytest.raises(Unsupported, match="never ends"):
        convert_bytes(looping(graph, ["", "", "x"], ["y"], [value("x", [2])]))


def test_gathered_values_must_keep_their_shape() -> None:
    nodes = [helper.make_node("Concat", ["v", "x"], ["v2"], axis=0)]
    model = looping(body(nodes, ["v"], ["v2", "v2"]), ["n", "", "x"], ["y", "ys"], [value("n", [], INT64), value("x", [2])])
    with pytest.raises(InvalidInput, match="iteration 1 returns"):
        run_jny(model, {"n": np.array(2), "x": floats(2)})
    assert run_jny(model, {"n": np.array(1), "x": floats(2)})["ys"].shape == (1, 4)


def test_an_index_beyond_what_is_scanned() -> None:
    nodes = [helper.make_node("Gather", ["x", "i"], ["v2"], axis=0)]
    model = looping(
        body(nodes, ["v"], ["v2"]), ["n", "", "v0"], ["y"], [value("n", [], INT64), value("x", ["T"]), value("v0", [])]
    )
    with pytest.raises(InvalidInput, match="index 3"):
        run_jny(model, {"n": np.array(9), "x": floats(3), "v0": np.array(0, np.float32)})
    assert run_jny(model, {"n": np.array(3), "x": floats(3), "v0": np.array(0, np.float32)})["y"] == floats(3)[2]


def test_loops_nested_so_deeply_that_shapes_take_too_long_to_find() -> None:
    """Ranks spread from one carried value to the next, so that every level is lowered again, each time with all levels below."""

    def level(depth: int) -> onnx.NodeProto:
        names = [f"{stem}{depth}" for stem in "abc"]
        nodes = [level(depth - 1)] if depth else [helper.make_node("Identity", ["x"], ["r0"])]
        nodes += [
            helper.make_node("Identity", [names[1]], [f"p{depth}"]),
            helper.make_node("Identity", [names[2]], [f"q{depth}"]),
            helper.make_node("Unsqueeze", [f"r{depth}", "axes"], [f"s{depth}"]),
            helper.make_node("Identity", [f"go{depth}"], [f"on{depth}"]),
        ]
        inputs = [value(f"i{depth}", [], INT64), value(f"go{depth}", [], BOOL), *(value(name) for name in names)]
        outputs = [value(f"on{depth}", [], BOOL), *(value(f"{stem}{depth}") for stem in "pqs")]
        graph = helper.make_graph(nodes, f"body{depth}", inputs, outputs)
        results = [f"r{depth + 1}", f"u{depth + 1}", f"w{depth + 1}"]
        return helper.make_node("Loop", ["n", "", "x", "x", "x"], results, body=graph)

    deep = model_of([level(15)], [value("n", [], INT64), value("x", [2])], [value("r16")], [const("axes", [0])])
    with pytest.raises(Unsupported):
        convert_bytes(deep)
    shallow = model_of([level(1)], [value("n", [], INT64), value("x", [2])], [value("r2")], [const("axes", [0])])
    check_model(shallow, {"n": np.array(2), "x": floats(2)})


def test_pictures_keep_their_axes_on_the_way_in_and_out() -> None:
    """Convolutions store channels last; what a loop captures, carries and gathers does not depend on it."""
    nodes = [
        helper.make_node("Conv", ["v", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c", "k"], ["s"]),
        helper.make_node("Tanh", ["s"], ["v2"]),
        helper.make_node("Slice", ["v2", "start", "end", "axes"], ["g"]),
    ]
    graph = body(nodes, ["v"], ["v2", "g"], [const("start", [1]), const("end", [3]), const("axes", [1])])
    model = looping(
        graph,
        ["n", "", "k"],
        ["y0", "gs"],
        [value("n", [], INT64), value("x", ["N", 3, "H", "W"])],
        before=[helper.make_node("Conv", ["x", "w0"], ["k"], pads=[1, 1, 1, 1])],
        after=[helper.make_node("Conv", ["y0", "w"], ["y"])],
        outputs=["y", "gs"],
        initializers=[const("w0", floats(8, 3, 3, 3, seed=1) * 0.2), const("w", floats(8, 8, 3, 3, seed=2) * 0.1)],
    )
    for trips, shape in ((3, (1, 3, 6, 5)), (1, (2, 3, 4, 4))):
        check_model(model, {"n": np.array(trips), "x": floats(*shape)})
