"""The writer: its bytes say what docs/format.md says, always the same, and nothing more than needed."""

from __future__ import annotations

import hashlib

import jny_reader
import numpy as np

from jitney.converter.ir import Affine, Graph, Model, Node, Quantisation, Value, constant, symbol
from jitney.converter.write import lay_out, serialise, write_model


def small_model() -> Model:
    x = Value("x", 1, [symbol("N"), 4])
    weight = constant("w", np.arange(8, dtype=np.float32).reshape(4, 2), 1)
    same = constant("w2", np.arange(8, dtype=np.float32).reshape(4, 2), 1)
    hidden, y = Value("h", 1, [symbol("N"), 2]), Value("y", 1, [Affine(1, (("N", 2),)), 2])
    nodes = [
        Node("matmul", [x, weight], [hidden], {"trans_a": 0, "alpha": 1.0, "activation": "none"}, "mm"),
        Node("concat", [hidden, hidden, same], [y], {"axis": 0}, "cat"),
    ]
    return Model(Graph("g", [x], [y], nodes), {"b": "2", "a": "1"}, ["y"])


def test_everything_arrives() -> None:
    file = jny_reader.read(serialise(small_model()))
    graph = file["graphs"][0]
    assert file["symbols"] == ["N"]
    assert list(file["metadata"].items()) == [("a", "1"), ("b", "2")]
    assert [value["name"] for value in graph["values"]] == ["x", "w", "h", "w2", "y"]
    assert graph["values"][0]["shape"] == [(0, [(0, 1)]), 4]
    assert graph["values"][4]["shape"] == [(1, [(0, 2)]), 2]
    assert (graph["inputs"], graph["outputs"]) == ([0], [4])
    assert graph["nodes"][0] == {
        "op": "matmul",
        "name": "mm",
        "inputs": [0, 1],
        "outputs": [2],
        "attributes": {"activation": (3, "none"), "alpha": (2, 1.0), "trans_a": (1, 0)},
    }


def test_equal_constants_are_written_once() -> None:
    file = jny_reader.read(serialise(small_model()))
    assert len(file["constants"]) == 1
    assert file["constants"][0]["data"] == np.arange(8, dtype=np.float32).tobytes()
    assert [value["constant"] for value in file["graphs"][0]["values"]] == [None, 0, None, 0, None]


def test_the_same_model_gives_the_same_bytes() -> None:
    assert serialise(small_model()) == serialise(small_model())
    assert hashlib.sha256(serialise(small_model())).hexdigest()[:16] == "9b83ecfd5892129c"


def test_unread_constants_are_left_out() -> None:
    model = small_model()
    model.graph.nodes[1].inputs.pop()
    assert len(jny_reader.read(serialise(model))["constants"]) == 1
    model.graph.nodes[0].op, model.graph.nodes[0].inputs = "relu", [model.graph.inputs[0]]
    assert jny_reader.read(serialise(model))["constants"] == []


def test_types_and_sizes_of_constants() -> None:
    arrays = [
        (np.array(3, np.int64), 7),
        (np.zeros((0, 5), np.float32), 1),
        (np.array([True, False]), 9),
        (np.array([1, 2], ">i4"), 6),
        (np.arange(12, dtype=np.float16).reshape(3, 4).T, 10),
        (np.ones((65,), np.int8), 3),
        (np.array([1], np.float64), 11),
    ]
    values = [constant(f"c{i}", array, dtype) for i, (array, dtype) in enumerate(arrays)]
    y = Value("y", 1)
    file = jny_reader.read(serialise(Model(Graph("g", [], [y], [Node("concat", [*values], [y], {"axis": 0})]), {}, ["y"])))
    for (array, dtype), stored in zip(arrays, file["constants"], strict=True):
        assert (stored["dtype"], stored["shape"]) == (dtype, list(array.shape))
        assert stored["data"] == np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()


def test_output_names_survive_rewriting() -> None:
    x = Value("x", 1, [2])
    y = Value("other", 1, [2])
    clash = Value("second", 1, [2])
    one = constant("one", np.ones(2, np.float32), 1)
    nodes = [Node("relu", [x], [clash]), Node("neg", [clash], [y])]
    names = ["first", "second", "third", "fourth", "x"]
    file = jny_reader.read(serialise(Model(Graph("g", [x], [y, y, one, x, x], nodes), {}, names)))
    graph = file["graphs"][0]
    assert [graph["values"][i]["name"] for i in graph["outputs"]] == names
    assert graph["outputs"][4] == graph["inputs"][0]
    assert [node["op"] for node in graph["nodes"]] == ["relu", "neg", "identity", "identity", "identity"]
    all_names = [value["name"] for value in graph["values"]]
    assert len(set(all_names)) == len(all_names)


def test_subgraphs_follow_their_graph() -> None:
    def branch(name: str, op: str) -> Graph:
        inside, result = Value("c", 1, [2]), Value("r", 1, [2])
        return Graph(name, [inside], [result], [Node(op, [inside], [result])])

    inner = Node(
        "if", [Value("p", 9, []), Value("q", 1, [2])], [Value("s", 1)], {"then": branch("t2", "abs"), "else": branch("e2", "exp")}
    )
    middle = Graph("mid", [*inner.inputs], [inner.output], [inner])  # type: ignore[list-item]
    condition, x, y = Value("b", 9, []), Value("x", 1, [2]), Value("y", 1)
    outer = Node("if", [condition, x], [y], {"then": branch("t", "relu"), "else": middle})
    layout = lay_out(Model(Graph("g", [condition, x], [y], [outer]), {}, ["y"]))
    file = jny_reader.read(b"".join(layout.pieces()))
    assert [graph["name"] for graph in file["graphs"]] == ["g", "mid", "t", "e2", "t2"]
    assert file["graphs"][0]["nodes"][0]["attributes"] == {"else": (8, 1), "then": (8, 2)}
    assert len(layout.values) == 5 and layout.values[0][0] is condition


def test_constants_as_inputs() -> None:
    model = small_model()
    weight = model.graph.nodes[0].inputs[1]
    assert weight is not None
    file = jny_reader.read(b"".join(lay_out(model, as_inputs=[weight]).pieces()))
    assert file["graphs"][0]["inputs"] == [0, 1]
    assert file["graphs"][0]["values"][1]["constant"] is None
    assert file["graphs"][0]["values"][1]["shape"] == [4, 2]


def test_quantisation_and_attribute_kinds() -> None:
    x = Value("x", 3, [4], quantisation=Quantisation(np.array([0.5], np.float32), np.array([1], np.int8), 0))
    y = Value("y", 3, [4])
    attributes = {"i": [1, 2], "f": [1.0, 2.5], "s": ["a"], "e": [], "c": np.array([7], np.int64)}
    file = jny_reader.read(serialise(Model(Graph("g", [x], [y], [Node("o", [x, None], [y, None], attributes)]), {}, ["y"])))  # type: ignore[arg-type]
    node = file["graphs"][0]["nodes"][0]
    assert node["inputs"] == [0, -1] and node["outputs"] == [1, -1]
    assert node["attributes"] == {"c": (7, 0), "e": (4, []), "f": (5, [1.0, 2.5]), "i": (4, [1, 2]), "s": (6, ["a"])}
    assert file["graphs"][0]["values"][0]["quantised"] == (1, 2, 0)


def test_file_equals_bytes(tmp_path) -> None:  # type: ignore[no-untyped-def]
    size = write_model(small_model(), tmp_path / "m.jny")
    assert (tmp_path / "m.jny").read_bytes() == serialise(small_model())
    assert size == (tmp_path / "m.jny").stat().st_size
