"""Boxes that stay and elements that are unique: how many there are is known only after the run."""

from __future__ import annotations

import numpy as np
import pytest
from op_check import Array, check, convert_bytes, int64s, make_model, over_versions, reference, rng, run_jny

from jitney import Session


def boxes(count: int, batch: int = 1) -> Array:
    corners = rng(1).uniform(0, 80, (batch, count, 2))
    return np.concatenate([corners, corners + rng(2).uniform(5, 40, (batch, count, 2))], -1).astype(np.float32)


@over_versions("NonMaxSuppression")
@pytest.mark.parametrize("centred", [0, 1])
def test_non_max_suppression(op: str, opset: int, centred: int) -> None:
    operands = [boxes(40, 2), rng(3).uniform(0, 1, (2, 3, 40)).astype(np.float32)]
    most, overlap, least = int64s(7), np.array([0.4], np.float32), np.array([0.2], np.float32)
    check(op, [*operands, most, overlap, least], opset=opset, center_point_box=centred)
    check(op, [*operands, most, overlap, least], opset=opset, constants=[2, 3, 4], center_point_box=centred)
    check(op, [*operands, most, overlap], opset=opset, center_point_box=centred)
    if opset >= 11:
        check(op, [*operands, np.array(5), np.array(0.4, np.float32), np.array(0.2, np.float32)], opset=opset)
    for short in (operands, [*operands, int64s(0), overlap, least], [*operands, int64s(-1), overlap, least]):
        assert run_jny(make_model(op, short, opset=opset), {f"x{i}": x for i, x in enumerate(short)})["y0"].shape == (0, 3)


def test_non_max_suppression_with_operands_left_out_and_equal_scores() -> None:
    operands = [boxes(12), np.full((1, 2, 12), 0.5, np.float32), int64s(20)]
    model = make_model("NonMaxSuppression", [*operands, None, np.array([0.2], np.float32)], opset=11)
    feeds = {"x0": operands[0], "x1": operands[1], "x2": operands[2], "x4": np.array([0.2], np.float32)}
    first = run_jny(model, feeds)["y0"]
    np.testing.assert_array_equal(first, reference(model, feeds)["y0"])
    scores = operands[1].copy()
    scores[0, 0, 3] = np.nan
    model = make_model("NonMaxSuppression", [operands[0], scores, int64s(20), np.array([1.0], np.float32)], opset=11)
    feeds = {"x0": operands[0], "x1": scores, "x2": int64s(20), "x3": np.array([1.0], np.float32)}
    kept = run_jny(model, feeds)["y0"]
    assert len(kept) == 24 and kept[11].tolist() == [0, 0, 3]


def test_boxes_are_selected_anew_in_every_run() -> None:
    operands = [boxes(30), rng(3).uniform(0, 1, (1, 1, 30)).astype(np.float32), int64s(9), np.array([0.5], np.float32)]
    model = make_model("NonMaxSuppression", operands, opset=11, symbolic=True)
    with Session(convert_bytes(model)) as session:
        for count, most, overlap in ((30, 9, 0.5), (30, 3, 0.5), (11, 9, 0.1), (30, 9, 0.5), (0, 9, 0.5), (5, 9, 0.9)):
            feeds = {
                "x0": operands[0][:, :count], "x1": operands[1][..., :count], "x2": int64s(most),
                "x3": np.array([overlap], np.float32),
            }  # fmt: skip
            np.testing.assert_array_equal(session.run(feeds)["y0"], reference(model, feeds)["y0"])


@over_versions("Unique")
@pytest.mark.parametrize("in_order", [0, 1])
@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": 1}, {"axis": -1}])
def test_unique(op: str, opset: int, in_order: int, options: dict[str, int]) -> None:
    for dtype in (np.float32, np.int64, np.int8, np.float64):
        x = rng().integers(-1, 2, (4, 5, 2)).astype(dtype)
        check(op, [x], opset=opset, outputs=4, sorted=in_order, **options)
        check(op, [x[:, :1]], opset=opset, outputs=["y", "", "inverse"], sorted=in_order, **options)


def test_unique_elements_of_odd_tensors() -> None:
    x = np.array([np.nan, 1, -0.0, np.nan, 0.0, -np.inf, 1], np.float32)
    y = run_jny(make_model("Unique", [x], opset=11, outputs=4), {"x0": x})
    np.testing.assert_array_equal(y["y0"], np.array([-np.inf, 0, 1, np.nan], np.float32))
    assert [y[f"y{i}"].tolist() for i in (1, 2, 3)] == [[5, 2, 1, 0], [3, 2, 1, 3, 1, 0, 2], [1, 2, 2, 2]]
    large = np.array([2**63, 1, 2**64 - 1, 2**63], np.uint64)
    np.testing.assert_array_equal(run_jny(make_model("Unique", [large], opset=11), {"x0": large})["y0"], np.unique(large))
    for shape, attributes, wanted in (((0,), {}, (0,)), ((3, 0), {"axis": 0}, (1, 0)), ((0, 3), {"axis": 0}, (0, 3))):
        model = make_model("Unique", [np.zeros(shape, np.float32)], opset=11, symbolic=True, attributes=attributes)
        assert run_jny(model, {"x0": np.zeros(shape, np.float32)})["y0"].shape == wanted
