"""Pads, axes, repeats, k, sizes and bounds that are fed, or computed from what is fed, and change between runs of a session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from op_check import Array, assert_same, convert_bytes, floats, int64s, model_of, reference, rng, value

from jitney import Session


@dataclass
class Case:
    """A node whose operands after the first take these values in turn; None stands for one left out."""

    op: str
    opset: int
    x: Array
    runs: list[list[Array | None]]
    outputs: int = 1
    attributes: dict[str, Any] = field(default_factory=dict)
    name: str = ""

    def __str__(self) -> str:
        return self.name or self.op


def scales(*items: float) -> Array:
    return np.array(items, np.float32)


_CASES = [
    Case("Reshape", 14, floats(2, 3, 4), [[int64s(6, 4)], [int64s(4, -1)], [int64s(2, 12)], [int64s(6, 4)]]),
    Case("Expand", 13, floats(1, 3), [[int64s(2, 3)], [int64s(4, 1)], [int64s(1, 3)], [int64s(2, 3)]]),
    Case("Tile", 13, floats(2, 3), [[int64s(2, 1)], [int64s(1, 3)], [int64s(0, 1)], [int64s(2, 1)]]),
    Case("Pad", 13, floats(3, 4), [[int64s(0, 1, 2, 0), None], [int64s(1, 0, 0, 0), np.array(5, np.float32)]] * 2),
    Case("Pad", 18, floats(3, 4), [[int64s(1, 2), None, int64s(1)], [int64s(0, 1), None, int64s(-2)]] * 2, name="Pad-axes"),
    Case(
        "Pad",
        18,
        floats(3, 4),
        [[int64s(1, 2), None, int64s(1)], [int64s(0, 1), None, int64s(0)]] * 2,
        attributes={"mode": "reflect"},
        name="Pad-reflect",
    ),
    Case(
        "Slice",
        13,
        floats(5, 6),
        [
            [int64s(1), int64s(4), int64s(0), int64s(1)],
            [int64s(-1), int64s(-9), int64s(1), int64s(-2)],
            [int64s(3), int64s(3), int64s(0), int64s(1)],
        ]
        * 2,
    ),
    Case("Split", 18, floats(6, 2), [[int64s(2, 4)], [int64s(5, 1)], [int64s(0, 6)], [int64s(2, 4)]], outputs=2),
    Case("Squeeze", 13, floats(1, 3, 1), [[int64s(0)], [int64s(2)], [int64s(0, -1)], [int64s(0)]]),
    Case("Unsqueeze", 13, floats(2, 3), [[int64s(0)], [int64s(-1)], [int64s(1)], [int64s(0)]]),
    Case("ReduceSum", 13, floats(2, 3, 4), [[int64s(0)], [int64s(2)], [int64s(-2)], [int64s(0)]]),
    Case("ReduceMax", 20, floats(2, 3, 4), [[int64s(0, 1)], [int64s(2, 0)], [int64s(0, 1)]], attributes={"keepdims": 0}),
    Case("CumSum", 14, floats(2, 3), [[np.array(0)], [np.array(1)], [np.array(-2)]]),
    Case("TopK", 11, floats(3, 5), [[int64s(2)], [int64s(5)], [int64s(0)], [int64s(2)]], outputs=2),
    Case("OneHot", 11, rng().integers(0, 3, (2, 3)), [[np.array(d), np.array([0, 1], np.float32)] for d in (3, 5, 1, 3)]),
    Case("Trilu", 14, floats(4, 4), [[np.array(k)] for k in (0, 2, -1, 0)]),
    Case(
        "Resize",
        13,
        floats(1, 2, 4, 5),
        [[None, scales(1, 1, 2, 2)], [None, scales(1, 1, 0.5, 1.4)], [None, scales(1, 1, 2, 2)]],
        attributes={"mode": "linear"},
        name="Resize-scales",
    ),
    Case(
        "Resize",
        18,
        floats(1, 2, 4, 5),
        [[None, None, int64s(h, w)] for h, w in ((8, 3), (2, 10), (4, 5), (8, 3))],
        attributes={"mode": "nearest", "axes": [2, 3]},
        name="Resize-sizes",
    ),
    Case(
        "Resize",
        18,
        floats(1, 2, 4, 5),
        [[scales(0, 0, a, b, 1, 1, 0.9, 0.8), None, int64s(1, 2, 3, 3)] for a, b in ((0, 0.2), (0.3, 0))],
        attributes={"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"},
        name="Resize-roi",
    ),
    Case("Gather", 13, floats(4, 3), [[int64s(0, 3)], [int64s(-1)], [int64s(2, 2, 1)], [int64s(0, 3)]]),
    Case(
        "Compress",
        11,
        floats(4, 2),
        [[np.array(c, bool)] for c in ([1, 0, 1, 1], [0, 0, 0, 0], [1, 1], [1, 0, 1, 1])],
        attributes={"axis": 0},
    ),
    Case("ReverseSequence", 10, floats(4, 2), [[int64s(4, 2)], [int64s(1, 3)], [int64s(4, 2)]]),
    Case("CenterCropPad", 18, floats(4, 6), [[int64s(2, 8)], [int64s(6, 3)], [int64s(2, 8)]]),
    Case(
        "Col2Im", 18, floats(1, 4, 9), [[int64s(4, 4), int64s(2, 2)], [int64s(2, 10), int64s(2, 2)], [int64s(6, 3), int64s(4, 1)]]
    ),
    Case("ConstantOfShape", 9, int64s(2, 3), [[]]),
]


def _model(case: Case, computed: bool) -> Any:
    """The node with its operands fed, or cast to their type from floats that are fed."""
    inputs, nodes, names = (
        [value("x0", [f"d{i}" for i in range(case.x.ndim)], helper.np_dtype_to_tensor_dtype(case.x.dtype))],
        [],
        ["x0"],
    )
    most = max(case.runs, key=lambda run: sum(operand is not None for operand in run))
    for index, operand in enumerate(most, 1):
        if operand is None:
            names.append("")
            continue
        dtype = helper.np_dtype_to_tensor_dtype(operand.dtype)
        shape: list[int | str] = [f"n{index}_{axis}" for axis in range(operand.ndim)]
        inputs.append(value(f"x{index}", shape, TensorProto.DOUBLE if computed else dtype))
        names.append(f"x{index}")
        if computed:
            nodes.append(helper.make_node("Cast", [f"x{index}"], [f"c{index}"], to=dtype))
            names[-1] = f"c{index}"
    outputs = [f"y{i}" for i in range(case.outputs)]
    nodes.append(helper.make_node(case.op, names, outputs, name="node", **case.attributes))
    return model_of(nodes, inputs, [helper.make_empty_tensor_value_info(name) for name in outputs], opset=case.opset)


@pytest.mark.parametrize("computed", [False, True], ids=["fed", "computed"])
@pytest.mark.parametrize("case", _CASES, ids=str)
def test_operands_that_change(case: Case, computed: bool) -> None:
    model = _model(case, computed)
    names = {info.name for info in model.graph.input}
    for backend in ("auto", "reference"):
        with Session(convert_bytes(model), backend=backend) as session:
            for run in [*case.runs, case.runs[0]]:
                given = {f"x{index}": operand for index, operand in enumerate(run, 1) if f"x{index}" in names}
                feeds = {"x0": case.x}
                for name, operand in given.items():
                    array = np.array(0, np.float32) if operand is None else operand
                    feeds[name] = array.astype(np.float64) if computed else array
                actual, expected = session.run(feeds), reference(model, feeds)
                for name in expected:
                    assert_same(actual[name], expected[name])


def test_other_sizes_with_the_same_operands() -> None:
    """A plan made for one shape must not serve another where the operand stays as it was."""
    case = next(case for case in _CASES if case.op == "Pad" and case.opset == 13)
    model = _model(case, computed=True)
    with Session(convert_bytes(model)) as session:
        for shape in ((3, 4), (1, 7), (0, 2), (3, 4)):
            feeds = {"x0": floats(*shape), "x1": np.array([0, 1, 2, 0], np.float64), "x2": np.array(3, np.float64)}
            assert_same(session.run(feeds)["y0"], reference(model, feeds)["y0"])
