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


@over_versions("CenterCropPad")
def test_a_body_with_shape_arithmetic(op: str, opset: int) -> None:
    check(op, [floats(5, 8), np.array([7, 4], np.int64)], opset=opset, constants=[1], symbolic=False)
    check(op, [floats(5, 8), np.array([7, 4], np.int32)], opset=opset, symbolic=False)


@over_versions("HannWindow", "HammingWindow", "BlackmanWindow")
def test_windows(op: str, opset: int) -> None:
    check(op, [np.array(10, np.int32)], opset=opset)
