"""Well-formed files whose nodes make no sense, as an enemy would write them: a typed error from every backend, never a crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitney
from jitney.converter.ir import Graph, Model, Node, Value, constant
from jitney.converter.write import serialise

Operands = dict[str, np.ndarray | None]
DTYPES = {np.dtype(np.float32): 1, np.dtype(np.int32): 6, np.dtype(np.int64): 7, np.dtype(np.bool_): 9}


def model(op: str, operands: Operands, attributes: dict[str, Any], *, stored: bool, results: int = 1) -> bytes:
    """A model of one node whose operands from the second on are constants, if `stored`, or inputs without declared shapes."""
    values: list[Value | None] = []
    inputs: list[Value] = []
    for index, (name, array) in enumerate(operands.items()):
        if array is None:
            values.append(None)
        elif stored and index > 0:
            values.append(constant(name, array, DTYPES[array.dtype]))
        else:
            inputs.append(Value(name, DTYPES[array.dtype], None))
            values.append(inputs[-1])
    outputs = [Value(f"y{index}") for index in range(results)]
    return serialise(Model(Graph("g", inputs, outputs, [Node(op, values, list(outputs), attributes, "node")])))


def run(op: str, operands: Operands, attributes: dict[str, Any], backend: str, *, stored: bool) -> dict[str, np.ndarray]:
    with jitney.Session(model(op, operands, attributes, stored=stored), backend=backend) as session:
        return session.run({info.name: operands[info.name] for info in session.inputs})


def floats(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def ints(*items: int) -> np.ndarray:
    return np.array(items, np.int64)


X = floats(1, 4, 6, 6)
W = floats(4, 4, 3, 3)
HUGE = 2**62
NODES: dict[str, tuple[str, Operands, dict[str, Any]]] = {
    "strides of 0": ("conv", {"x": X, "w": W}, {"strides": [0, 0]}),
    "huge strides": ("conv", {"x": X, "w": W}, {"strides": [HUGE, HUGE]}),
    "huge pads": ("conv", {"x": X, "w": W}, {"pads": [HUGE] * 4}),
    "negative pads": ("conv", {"x": X, "w": W}, {"pads": [-5] * 4}),
    "too few pads": ("conv", {"x": X, "w": W}, {"pads": [1, 1]}),
    "huge dilations": ("conv", {"x": X, "w": W}, {"dilations": [2**63 - 1, 1]}),
    "group 0": ("conv", {"x": X, "w": W}, {"group": 0}),
    "negative group": ("conv", {"x": X, "w": W}, {"group": -4}),
    "huge group": ("conv", {"x": X, "w": W}, {"group": HUGE}),
    "group that does not divide": ("conv", {"x": X, "w": floats(4, 1, 3, 3)}, {"group": 3}),
    "weights of another rank": ("conv", {"x": X, "w": floats(4, 4, 3)}, {}),
    "weights of other channels": ("conv", {"x": X, "w": floats(4, 5, 3, 3)}, {}),
    "weights of another dtype": ("conv", {"x": X, "w": W.astype(np.int64)}, {}),
    "scalar weights": ("conv", {"x": X, "w": floats()}, {}),
    "bias of another size": ("conv", {"x": X, "w": W, "b": floats(3)}, {}),
    "residual of another shape": ("conv", {"x": X, "w": W, "b": None, "r": X}, {}),
    "prelu without slope": ("conv", {"x": X, "w": W}, {"activation": "prelu"}),
    "slope of another size": ("conv", {"x": X, "w": W, "b": None, "r": None, "s": floats(3)}, {"activation": "prelu"}),
    "kernel of no size": ("conv", {"x": X, "w": floats(4, 4, 0, 0)}, {}),
    "kernel of many elements": ("conv", {"x": X, "w": np.zeros((0, 4, 2**20, 2**20), np.float32)}, {}),
    "transposed to a negative size": ("conv_transpose", {"x": X, "w": W}, {"pads": [50] * 4}),
    "transposed with huge strides": ("conv_transpose", {"x": X, "w": W}, {"strides": [2**31 - 1] * 2}),
    "transposed to a huge shape": ("conv_transpose", {"x": X, "w": W}, {"output_shape": [HUGE, HUGE]}),
    "empty kernel": ("max_pool", {"x": X}, {"kernel": []}),
    "huge kernel": ("average_pool", {"x": X}, {"kernel": [2**31 - 1, 2**31 - 1], "auto_pad": "same_upper"}),
    "negative kernel": ("max_pool", {"x": X}, {"kernel": [-1, -1]}),
    "power 0": ("lp_pool", {"x": X}, {"kernel": [2, 2], "p": 0}),
    "inner sizes that differ": ("matmul", {"a": floats(2, 3), "b": floats(4, 5)}, {}),
    "scalar factor": ("matmul", {"a": floats(), "b": floats(4, 5)}, {}),
    "columns of bias": ("matmul", {"a": floats(2, 3), "b": floats(3, 5), "c": floats(4)}, {}),
    "perm with duplicates": ("transpose", {"x": X}, {"perm": [0, 0, 1, 2]}),
    "perm too short": ("transpose", {"x": X}, {"perm": [1, 0]}),
    "perm out of range": ("transpose", {"x": X}, {"perm": [0, 1, 2, 4]}),
    "axis beyond": ("softmax", {"x": X}, {"axis": 4}),
    "axis before": ("softmax", {"x": X}, {"axis": -5}),
    "lowest axis": ("gather", {"x": X, "i": ints(0)}, {"axis": -(2**63)}),
    "index beyond": ("gather", {"x": X, "i": ints(4)}, {"axis": 1}),
    "float indices": ("gather", {"x": X, "i": floats(1)}, {"axis": 1}),
    "index beyond, nd": ("gather_nd", {"x": X, "i": ints(0, 7)}, {}),
    "index beyond, elements": ("scatter_elements", {"x": X, "i": np.full((1, 1, 1, 1), 9), "u": floats(1, 1, 1, 1)}, {"axis": 1}),
    "huge expansion": ("expand", {"x": X, "s": ints(HUGE, 1, 1, 1, 1)}, {}),
    "negative expansion": ("expand", {"x": X, "s": ints(-3)}, {}),
    "long expansion": ("expand", {"x": X, "s": np.ones(50, np.int64)}, {}),
    "huge repeats": ("tile", {"x": X, "r": ints(HUGE, HUGE, 1, 1)}, {}),
    "negative repeats": ("tile", {"x": X, "r": ints(-1, 1, 1, 1)}, {}),
    "shape of other size": ("reshape", {"x": X, "s": ints(7, 7)}, {}),
    "shape that overflows": ("reshape", {"x": X, "s": ints(HUGE, 4, HUGE, 36)}, {}),
    "two open sizes": ("reshape", {"x": X, "s": ints(-1, -1)}, {}),
    "float shape": ("reshape", {"x": X, "s": floats(4)}, {}),
    "steps of 0": ("slice", {"x": X, "b": ints(0), "e": ints(1), "a": ints(0), "s": ints(0)}, {}),
    "axes twice": ("slice", {"x": X, "b": ints(0, 0), "e": ints(1, 1), "a": ints(1, 1)}, {}),
    "starts and ends differ": ("slice", {"x": X, "b": ints(0), "e": ints(1, 1)}, {}),
    "sizes of parts": ("split", {"x": X, "s": ints(9)}, {"axis": 1}),
    "negative parts": ("split", {"x": X, "s": ints(-4)}, {"axis": 1}),
    "pads of half length": ("pad", {"x": X, "p": ints(1, 1)}, {}),
    "pads below all": ("pad", {"x": X, "p": ints(0, -9, 0, 0, 0, 0, 0, 0)}, {}),
    "pads that overflow": ("pad", {"x": X, "p": ints(*[2**62] * 8)}, {}),
    "block of 0": ("depth_to_space", {"x": X}, {"block": 0}),
    "huge block": ("space_to_depth", {"x": X}, {"block": 2**63 - 1}),
    "sizes as floats": ("resize", {"x": X, "s": floats(4)}, {}),
    "scale of 0": ("resize", {"x": X, "s": None, "f": floats(4) * 0}, {}),
    "scales as bools": ("resize", {"x": X, "s": None, "f": np.ones(4, np.bool_)}, {}),
    "huge scales": ("resize", {"x": X, "s": None, "f": floats(4) * 1e18}, {}),
    "top of more than there are": ("top_k", {"x": X, "k": ints(7)}, {"axis": 3, "largest": 1, "sorted": 1}),
    "range without step": ("range", {"a": ints(0), "b": ints(9), "c": ints(0)}, {}),
    "endless range": ("range", {"a": ints(0), "b": ints(2**63 - 1), "c": ints(1)}, {}),
    "scale of another size": ("instance_norm", {"x": X, "s": floats(3), "b": floats(4)}, {}),
    "shapes that do not broadcast": ("add", {"a": X, "b": floats(5)}, {}),
    "dtypes that differ": ("add", {"a": X, "b": X.astype(np.int64)}, {}),
    "more axes than can be": ("unsqueeze", {"x": X, "a": np.zeros((9, 9, 5, 9), np.int64)}, {}),
    "thousands of axes": ("reduce", {"x": floats(), "a": np.ones((3, 8, 8, 8), np.int32)}, {"kind": "l1"}),
    "thousands of pads": ("pad", {"x": X, "p": np.zeros(4096, np.int64)}, {}),
    "no operand": ("add", {}, {}),
    "one operand of two": ("add", {"a": X}, {}),
    "three operands of two": ("add", {"a": X, "b": X, "c": X}, {}),
    "unknown attribute": ("relu", {"x": X}, {"alpha": 1.0}),
    "attribute of another type": ("softmax", {"x": X}, {"axis": 1.0}),
    "unknown word": ("pad", {"x": X, "p": ints(*[0] * 8)}, {"mode": "mirror"}),
    "unknown op": ("explode", {"x": X}, {}),
}


@pytest.mark.parametrize("case", NODES)
def test_senseless_node(case: str) -> None:
    op, operands, attributes = NODES[case]
    for stored in (False, True):
        for backend in ("reference", "cpu"):
            with pytest.raises(jitney.Error) as caught:
                run(op, operands, attributes, backend, stored=stored)
            assert not isinstance(caught.value, jitney.InternalError), caught.value


LONG = 2**40
EMPTY: dict[str, tuple[str, Callable[[], Operands], dict[str, Any], tuple[int, ...]]] = {
    "sum": ("add", lambda: {"a": np.zeros((0, LONG), np.float32), "b": floats(1, 1)}, {}, (0, LONG)),
    "gather": ("gather_nd", lambda: {"x": np.zeros((0, 3), np.float32), "i": np.zeros((LONG, 0, 1), np.int64)}, {}, (LONG, 0, 3)),
    "norm": ("layer_norm", lambda: {"x": np.zeros((LONG, 0), np.float32)}, {"axis": -1}, (LONG, 0)),
    "softmax": ("log_softmax", lambda: {"x": np.zeros((0, LONG), np.float32)}, {"axis": 1}, (0, LONG)),
    "resize": (
        "resize",
        lambda: {"x": np.zeros((1, 2, 4, 4), np.float32), "s": ints(1, 0, LONG, 4)},
        {"mode": "cubic", "antialias": 1},
        (1, 0, LONG, 4),
    ),
    "product": ("matmul", lambda: {"a": np.zeros((LONG, 0), np.float32), "b": floats(0, 0)}, {}, (LONG, 0)),
}


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("case", EMPTY)
def test_empty_results_with_long_axes(case: str, backend: str) -> None:
    """Nothing may be walked or tabulated along an axis of 2⁴⁰ if the result has no elements."""
    op, operands, attributes, shape = EMPTY[case]
    assert run(op, operands(), attributes, backend, stored=False)["y0"].shape == shape
