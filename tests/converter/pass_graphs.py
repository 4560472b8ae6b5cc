"""For tests of passes: builds small models, shows them as short lines, runs them, and compares before with after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from jitney import _core
from jitney.converter import ir
from jitney.converter.infer import infer_shapes
from jitney.converter.ir import Dim, Graph, Model, Node, Value
from jitney.converter.write import dtype_of, serialise

Array = npt.NDArray[Any]
FLOAT = 1
BOOL = 9


class Builder:
    """Makes a model, node by node; calling it adds a node and returns its first result."""

    def __init__(self, seed: int = 0) -> None:
        self.graph = Graph("test")
        self.random = np.random.default_rng(seed)
        self.twin: Value | None = None
        """Weights that several nodes may share."""

    def input(self, name: str, *shape: Dim | str, dtype: int = FLOAT) -> Value:
        value = Value(name, dtype, [ir.symbol(dim) if isinstance(dim, str) else dim for dim in shape])
        self.graph.inputs.append(value)
        return value

    def const(self, array: Any, dtype: Any = np.float32, name: str = "") -> Value:
        data = np.asarray(array, dtype)
        return ir.constant(name or f"c{self.random.integers(1 << 40)}", data, dtype_of(data))

    def weights(self, name: str, *shape: int, dtype: Any = np.float32) -> Value:
        return self.const(self.random.uniform(-1, 1, shape), dtype, name)

    def __call__(self, op: str, *operands: Value | float | None, name: str = "", results: int = 1, **attributes: Any) -> Value:
        return self.node(op, *operands, name=name, results=results, **attributes).output

    def node(self, op: str, *operands: Value | float | None, name: str = "", results: int = 1, **attributes: Any) -> Node:
        inputs = [self.const(each) if isinstance(each, (int, float)) else each for each in operands]
        stem = name or f"{op}{len(self.graph.nodes)}"
        outputs: list[Value | None] = [Value(stem if i == 0 else f"{stem}_{i}") for i in range(results)]
        node = Node(op, inputs, outputs, attributes, stem)
        self.graph.nodes.append(node)
        return node

    def conv(self, x: Value, channels: int, kernel: int = 1, name: str = "", **attributes: Any) -> Value:
        """A 2-D convolution with weights named after it, without bias."""
        stem = name or f"conv{len(self.graph.nodes)}"
        group, inputs = attributes.get("group", 1), attributes.pop("inputs", None) or (x.shape or [])[1]
        assert isinstance(inputs, int)
        weights = self.weights(f"{stem}_w", channels, inputs // group, kernel, kernel)
        attributes = {"pads": [kernel // 2] * 4, **attributes}
        return self("conv", x, weights, name=stem, **attributes)

    def model(self, *outputs: Value) -> Model:
        self.graph.outputs = list(outputs)
        model = Model(self.graph, {}, [value.name for value in outputs])
        infer_shapes(model)
        return model


def sketch(model: Model) -> list[str]:
    """One line a node: y = op(x, 2.0, w) attribute=value; numbers stand for constants of one element."""
    return [_line(node) for node in model.graph.nodes]


def _line(node: Node) -> str:
    results = ", ".join("_" if value is None else value.name for value in node.outputs)
    attributes = "".join(f" {name}={_short(value)}" for name, value in sorted(node.attributes.items()))
    return f"{results} = {node.op}({', '.join(_operand(value) for value in node.inputs)}){attributes}"


def _operand(value: Value | None) -> str:
    if value is None:
        return "_"
    if value.constant is not None and value.constant.size == 1:
        return f"{value.constant.reshape(()).item():.6g}"
    return value.name


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "graph" if isinstance(value, Graph) else str(value).replace(" ", "")


def feeds_for(model: Model, seed: int = 0, sizes: dict[str, int] | None = None) -> dict[str, Array]:
    """Random inputs; symbols are 2 unless given."""
    random = np.random.default_rng(seed)
    feeds: dict[str, Array] = {}
    for value in model.graph.inputs:
        assert value.shape is not None
        shape = [dim if isinstance(dim, int) else (sizes or {}).get(str(dim), 2) for dim in value.shape]
        numbers = random.uniform(-3, 3, shape)
        feeds[value.name] = numbers > 0 if value.dtype == BOOL else numbers.astype(np.float32)
    return feeds


def run(model: Model, feeds: dict[str, Array]) -> dict[str, Array]:
    """The outputs by the plain kernels."""
    session = _core.Session(_core.Model.from_bytes(serialise(model)), backend="reference", threads=1)
    return session.run(feeds)


def assert_same_results(before: dict[str, Array], after: dict[str, Array]) -> None:
    """Equal but for the rounding that folding constants brings; NaN equals NaN."""
    assert before.keys() == after.keys()
    for name, wanted in before.items():
        assert after[name].dtype == wanted.dtype
        assert after[name].shape == wanted.shape
        largest = float(np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1.0)) if wanted.dtype.kind == "f" else 1.0
        np.testing.assert_allclose(after[name], wanted, rtol=1e-4, atol=1e-5 * largest)


def check(function: Callable[[Model], int], model: Model, after: Sequence[str], sizes: dict[str, int] | None = None) -> None:
    """Applies the pass: it must lead to this graph, keep the results, and find nothing more to do."""
    before = sketch(model)
    feeds = feeds_for(model, sizes=sizes)
    wanted = run(model, feeds)
    changes = function(model)
    assert sketch(model) == list(after)
    assert (changes == 0) == (before == list(after))
    infer_shapes(model)
    assert_same_results(wanted, run(model, feeds))
    assert function(model) == 0


def check_unchanged(function: Callable[[Model], int], model: Model) -> None:
    """The pass must leave this graph alone."""
    check(function, model, sketch(model))
