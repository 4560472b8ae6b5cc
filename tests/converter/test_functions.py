"""Functions: those that the ONNX standard gives ops as their bodies, and a model's own."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from op_check import Array, check, floats, model_of, over_versions, run_jny, value

from jitney.converter.load import load
from jitney.converter.lower import lower
from jitney.errors import InvalidModel


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


def own_function(
    name: str, nodes: list[onnx.NodeProto], attributes: list[str] | None = None, overload: str = ""
) -> onnx.FunctionProto:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    function = helper.make_function("own", name, ["a"], ["b"], nodes, opsets, attributes)
    function.overload = overload
    return function


def run_functions(functions: list[onnx.FunctionProto], nodes: list[onnx.NodeProto], x: Array) -> Array:
    model = model_of(nodes, [value("x", [None])], [value("y")])
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.functions.extend(functions)
    return run_jny(model, {"x": x})["y"]


def test_overloads_are_told_apart() -> None:
    functions = [own_function("f", [helper.make_node(op, ["a"], ["b"])], overload=op) for op in ("Neg", "Exp")]
    nodes = [helper.make_node("f", ["x"], ["m"], domain="own"), helper.make_node("f", ["m"], ["y"], domain="own")]
    nodes[0].overload, nodes[1].overload = "Neg", "Exp"
    np.testing.assert_allclose(run_functions(functions, nodes, floats(4)), np.exp(-floats(4)), rtol=1e-5)


def test_attributes_are_handed_on_through_functions() -> None:
    inner = helper.make_node("LeakyRelu", ["a"], ["b"])
    inner.attribute.append(onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope"))
    middle = helper.make_node("inner", ["a"], ["b"], domain="own")
    middle.attribute.append(onnx.AttributeProto(name="slope", type=onnx.AttributeProto.FLOAT, ref_attr_name="outer_slope"))
    functions = [own_function("inner", [inner], ["slope"]), own_function("outer", [middle], ["outer_slope"])]
    x = np.array([-2, 3], np.float32)
    given = helper.make_node("outer", ["x"], ["y"], domain="own", outer_slope=0.5)
    np.testing.assert_array_equal(run_functions(functions, [given], x), np.array([-1, 3], np.float32))
    left_out = helper.make_node("outer", ["x"], ["y"], domain="own")  # which leaves the op's own default
    np.testing.assert_allclose(run_functions(functions, [left_out], x), np.array([-0.02, 3], np.float32))


def test_functions_that_call_themselves() -> None:
    calls = {"f": "g", "g": "f"}
    functions = [own_function(name, [helper.make_node(other, ["a"], ["b"], domain="own")]) for name, other in calls.items()]
    with pytest.raises(InvalidModel, match="the function 'f' calls itself"):
        run_functions(functions, [helper.make_node("f", ["x"], ["y"], domain="own")], floats(2))


def test_a_body_that_cannot_be_made_for_the_operands() -> None:
    """SequenceMap's body follows from the types of its operands, of which the first must be a sequence."""
    body = helper.make_graph([helper.make_node("Relu", ["a"], ["b"])], "body", [value("a", [2])], [value("b", [2])])
    node = helper.make_node("SequenceMap", ["x"], ["y"], name="map", body=body)
    with pytest.raises(InvalidModel, match="cannot be made") as caught:
        lower(load(model_of([node], [value("x", [2])], [value("y")], opset=17)))
    assert "in SequenceMap node 'map', opset 17, of x: float32[2]" in str(caught.value)
