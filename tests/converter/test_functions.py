"""Ops that lower through the function body that the ONNX standard gives them."""

from __future__ import annotations

import numpy as np
import pytest
from op_check import check, floats, over_versions


@over_versions("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_attributes_reach_functions_within_functions(op: str, opset: int, reduction: str) -> None:
    labels = np.array([0, 2, 1], np.int64)
    check(op, [floats(3, 5), labels], opset=opset, reduction=reduction, symbolic=False)


@over_versions("AffineGrid")
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 3, 4, 5, 6)])
def test_a_body_that_branches(op: str, opset: int, size: tuple[int, ...]) -> None:
    theta = floats(2, len(size) - 2, len(size) - 1)
    check(op, [theta, np.array(size, np.int64)], opset=opset, constants=[1], symbolic=False)


@over_versions("CenterCropPad")
def test_a_body_with_shape_arithmetic(op: str, opset: int) -> None:
    check(op, [floats(5, 8), np.array([7, 4], np.int64)], opset=opset, constants=[1], symbolic=False)


@over_versions("HannWindow", "HammingWindow", "BlackmanWindow")
def test_windows(op: str, opset: int) -> None:
    check(op, [np.array(10, np.int32)], opset=opset)
