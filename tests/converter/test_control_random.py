"""Random programs of nested loops, scans and branches, compared with what ONNX Runtime or onnx's evaluator makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from op_check import assert_right, model_of, references, run_jny, value

INT64, BOOL, FLOAT = TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT
MOST = 6
"""Elements that a vector may grow to."""


class Program:
    """Draws blocks of nodes. All values are float vectors of one or more elements, whose lengths change on the way."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.count = 0
        self.constants = [
            numpy_helper.from_array(np.asarray(data, np.int64), name)
            for name, data in (("zero", [0]), ("one", [1]), ("most", [MOST]), ("all", [-1]), ("none", []), ("rows", [-1, 1]))
        ]
        self.constants += [numpy_helper.from_array(np.array(n, np.int64), f"trips{n}") for n in range(4)]
        self.constants.append(numpy_helper.from_array(np.array(True), "yes"))
        self.constants.append(numpy_helper.from_array(np.array(0.137, np.float32), "offset"))

    def name(self, stem: str = "v") -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def pick(self, items: list[str]) -> str:
        # Mostly what was made last, so that results depend on much.
        return items[-1 - min(int(self.random.geometric(0.4)) - 1, len(items) - 1)]

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def block(self, known: list[str], numbers: list[str], depth: int, size: int) -> tuple[list[onnx.NodeProto], list[str]]:
        """Nodes, and the vectors that are known after them. `numbers` are iterations' numbers, scalars."""
        nodes: list[onnx.NodeProto] = []
        for _ in range(size):
            kinds = ["unary", "mean", "grow", "shrink", "at", "where"] + ["if", "loop", "loop", "scan"] * (depth > 0)
            result = getattr(self, str(self.random.choice(kinds)))(nodes, known, numbers, depth)
            known = [*known, result]
        return nodes, known

    def add(self, nodes: list[onnx.NodeProto], op: str, inputs: list[str], **attributes: Any) -> str:
        result = self.name()
        nodes.append(helper.make_node(op, inputs, [result], **attributes))
        return result

    def unary(self, nodes: list[onnx.NodeProto], known: list[str], numbers: list[str], depth: int) -> str:
        return self.add(nodes, str(self.random.choice(["Tanh", "Neg", "Sigmoid", "Abs"])), [self.pick(known)])

    def mean(self, nodes: list[onnx.NodeProto], known: list[str], numbers: list[str], depth: int) -> str:
        mean = self.add(nodes, "ReduceMean", [self.pick(known)], keepdims=1)
        return self.add(nodes, str(self.random.choice(["Add", "Sub", "Max"])), [self.pick(known), mean])

    def limited(self, nodes: list[onnx.NodeProto], vector: str) -> str:
        return self.add(nodes, "Slice", [vector, "zero", "most"])

    def grow(self, nodes: list[onnx.NodeProto], known: list[str], numbers: list[str], depth: int) -> str:
        joined = self.add(nodes, "Concat", [self.pick(known), self.pick(known)], axis=0)
        return self.limited(nodes, joined)

    def number(self, nodes: list[onnx.NodeProto], known: list[str], numbers: list[str]) -> str:
        """A vector of one index, 0 or more."""
        if numbers and self.chance(0.7):
            return self.add(nodes, "Reshape", [self.pick(numbers), "one"])
        size = self.add(nodes, "Shape", [self.pick(known)])
        return self.add(nodes, "Sub", [size, "one"])

    def shrink(self, nodes: list[onnx.NodeProto], known: list[str], numbers: list[str], depth: int) -> str:
        end = self.add(nodes, "Add", [self.number(nodes, known, numbers), "one"])
        return self.add(nodes, "Slice", [self.pick(known), "zero", end])

    def at(self, nodes: list[onnx.NodeProto], known: list[str], numbers: list[str], depth: int) -> str:
        vector = self.pick(known)
        index = self.add(nodes, "Mod", [self.number(nodes, known, numbers), self.add(nodes, "Shape", [vector])])
        return self.add(nodes, "Gather", [vector, index])

    def condition(self, nodes: list[onnx.NodeProto], known: list[str]) -> str:
        means = [self.add(nodes, "ReduceMean", [self.pick(known)], keepdims=0) for _ in range(2)]
        # Means of the same numbers, some of them twice, must not leave it to rounding.
        return self.add(nodes, "Less", [self.add(nodes, "Add", [means[0], "offset"]), means[1]])

    def where(self, nodes: list[onnx.NodeProto], known: list[str], numbers: list[str], depth: int) -> str:
        return self.add(nodes, "Where", [self.condition(nodes, known), *[self.add(nodes, "ReduceMax", [self.pick(known)])] * 2])

    def branch(self, known: list[str], numbers: list[str], depth: int) -> onnx.GraphProto:
        nodes, after = self.block(known, numbers, depth - 1, int(self.random.integers(1, 4)))
        return helper.make_graph(nodes, self.name("branch"), [], [value(after[-1])])

    def known_condition(self, nodes: list[onnx.NodeProto], known: list[str]) -> str:
        """Decided by a size."""
        sizes = [self.add(nodes, "Size", [self.pick(known)]) for _ in range(2)]
        return self.add(nodes, "Less", sizes)

    def if_(self, nodes: list[onnx.NodeProto], known: list[str], numbers: list[str], depth: int) -> str:
        condition = self.condition(nodes, known) if self.chance(0.7) else self.known_condition(nodes, known)
        branches = {f"{side}_branch": self.branch(known, numbers, depth) for side in ("then", "else")}
        return self.add(nodes, "If", [condition], **branches)

    def loop(self, nodes: list[onnx.NodeProto], known: list[str], numbers: list[str], depth: int) -> str:
        carried = [self.name("c") for _ in range(int(self.random.integers(1, 4)))]
        number, go = self.name("i"), self.name("go")
        inner, after = self.block([*known, *carried], [*numbers, number], depth - 1, int(self.random.integers(1, 4)))
        returned = [self.pick([*carried, *after[len(known) + len(carried) :]]) for _ in carried]
        condition = self.condition(inner, after) if self.chance(0.4) else self.add(inner, "Identity", [go])
        gathered = [self.add(inner, "ReduceSum", [self.pick(after)], keepdims=1) for _ in range(int(self.random.integers(0, 3)))]
        # ONNX Runtime wants every result to be computed in the body, and each by a node of its own.
        returned = [self.add(inner, "Identity", [name]) for name in returned]
        inputs = [value(number, [], INT64), value(go, [], BOOL), *(value(name) for name in carried)]
        outputs = [value(condition, [], BOOL), *(value(name) for name in returned), *(value(name, [1]) for name in gathered)]
        graph = helper.make_graph(inner, self.name("body"), inputs, outputs)
        trips = str(self.random.choice(["trips0", "trips1", "trips2", "trips3", "n", "n", "size"]))
        if trips == "size":
            trips = self.add(nodes, "Size", [self.pick(known)])
        if trips == "n" and numbers and self.chance(0.5):
            trips = self.pick(numbers)
        start = "" if self.chance(0.5) else self.condition(nodes, known) if self.chance(0.5) else "yes"
        results = [self.name() for _ in (*returned, *gathered)]
        initial = [self.pick(known) for _ in carried]
        nodes.append(helper.make_node("Loop", [trips, start, *initial], results, body=graph))
        flat = [self.add(nodes, "Reshape", [name, "all"]) for name in results[len(carried) :]]
        return self.limited(nodes, self.add(nodes, "Concat", [*results[: len(carried)], *flat], axis=0))

    def scan(self, nodes: list[onnx.NodeProto], known: list[str], numbers: list[str], depth: int) -> str:
        state, row = self.name("s"), self.name("r")
        inner, after = self.block([*known, state, row], numbers, depth - 1, int(self.random.integers(1, 3)))
        sums = [self.add(inner, "ReduceMean", [self.pick(after)], keepdims=1) for _ in range(2)]
        first = self.add(inner, "Add", [state, sums[0]])
        second = self.add(inner, "Mul", [row, sums[1]])
        graph = helper.make_graph(
            inner, self.name("body"), [value(state, [1]), value(row, [1])], [value(first, [1]), value(second, [1])]
        )
        rows = self.add(nodes, "Reshape", [self.pick(known), "rows"])
        start = self.add(nodes, "ReduceSum", [self.pick(known)], keepdims=1)
        results = [self.name(), self.name()]
        direction = int(self.random.integers(0, 2))
        attributes = {"scan_input_directions": [direction], "scan_output_directions": [int(self.random.integers(0, 2))]}
        nodes.append(helper.make_node("Scan", [start, rows], results, body=graph, num_scan_inputs=1, **attributes))
        flat = self.add(nodes, "Reshape", [results[1], "all"])
        return self.limited(nodes, self.add(nodes, "Concat", [results[0], flat], axis=0))

    def model(self) -> onnx.ModelProto:
        nodes, known = self.block(["x", "y"], [], 3, int(self.random.integers(3, 6)))
        dims: list[list[int | str]] = [["A"], ["B"]] if self.chance(0.6) else [[3], [2]]
        inputs = [value("n", [], INT64), value("x", dims[0]), value("y", dims[1])]
        return model_of(nodes, inputs, [value(name) for name in known[-2:]], self.constants)


setattr(Program, "if", Program.if_)


def check(seed: int) -> None:
    model = Program(seed).model()
    random = np.random.default_rng(seed)
    fixed = model.graph.input[1].type.tensor_type.shape.dim[0].HasField("dim_value")
    for trips in (2, 0) if not fixed else (3,):
        lengths = (3, 2) if fixed else random.integers(1, MOST, 2)
        feeds = {name: random.standard_normal(length).astype(np.float32) for name, length in zip("xy", lengths, strict=True)}
        feeds["n"] = np.array(trips)
        expected = next(references(model, feeds))
        for simplify, backend in ((False, "reference"), (True, "auto")):
            assert_right(run_jny(model, feeds, simplify=simplify, backend=backend), model, feeds, expected, 1e-4)


@pytest.mark.parametrize("seed", range(16))
def test_random_programs(seed: int) -> None:
    check(seed)
