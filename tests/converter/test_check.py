"""`convert --check` lists all problems of a model, each with its node, op, opset, operands and advice."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from op_check import model_of, value

from jitney import InvalidModel, Unsupported
from jitney.converter import check
from jitney.converter.load import load
from jitney.converter.lower import lower

NO_OP = "NoSuchOp"


def node(op: str, inputs: list[str], outputs: list[str], name: str = "", **attributes: object) -> onnx.NodeProto:
    return helper.make_node(op, inputs, outputs, name=name, **attributes)


def named(report: object) -> list[tuple[str, str, str]]:
    return [(error.node, error.op, error.opset) for error in report.problems]  # type: ignore[attr-defined]


def test_a_model_without_problems() -> None:
    report = check(model_of([node("Relu", ["x"], ["y"])], [value("x", ["N"])], [value("y")]))
    assert report.ok and report.to_dict()["convertible"] is True and "can be converted" in str(report)


def broken() -> onnx.ModelProto:
    """Unknown ops, a wrong attribute, wrong types and shapes, a missing operand: on the main path and beside it."""
    branches = [
        helper.make_graph(
            [node(NO_OP, ["x"], [f"{word}_a"], f"{word}_inner"), node("Relu", [f"{word}_a"], [f"{word}_r"])],
            word,
            [],
            [value(f"{word}_r")],
        )
        for word in ("then", "else")
    ]
    nodes = [
        node(NO_OP, ["x"], ["a"], "first"),
        node("Relu", ["a"], ["b"], "follows"),
        node(NO_OP, ["b"], ["c"], "second"),
        node("MatMul", ["x", "w"], ["d"], "sizes"),
        node("Add", ["x", "i"], ["e"], "types"),
        node("Gemm", ["x"], ["f"], "operands"),
        node("Conv", ["x", "w"], ["g"], "attribute", auto_pad="SOMEHOW"),
        node("Softmax", ["x"], ["h"], "axis", axis=5),
        node("If", ["flag"], ["k"], "branch", then_branch=branches[0], else_branch=branches[1]),
        node("Special", ["x"], ["l"], "special"),
        node("Sum", ["c", "d", "e", "f", "g", "h", "k", "l"], ["y"], "last"),
    ]
    nodes[9].domain = "com.example"
    inputs = [value("x", [2, 3]), value("i", [2, 3], TensorProto.INT64), value("flag", [], TensorProto.BOOL)]
    w = numpy_helper.from_array(np.zeros((4, 5), np.float32), "w")
    model = model_of(nodes, inputs, [value("y"), value("nowhere")], [w])
    model.opset_import.append(helper.make_opsetid("com.example", 3))
    return model


def test_all_problems_are_listed() -> None:
    report = check(broken())
    found = {error.node: error for error in report.problems if error.node}
    assert {"first", "second", "sizes", "types", "operands", "attribute", "axis", "then_inner", "else_inner", "special"} == set(
        found
    )
    for error in found.values():
        assert error.op and error.opset and error.inputs and error.hint and error.message, error.node
    assert found["first"].inputs == ("x: float32[2, 3]",) and found["first"].opset == "17"
    assert found["second"].op == NO_OP
    assert found["sizes"].op == "MatMul" and found["sizes"].inputs == ("x: float32[2, 3]", "w: float32[4, 5]")
    assert found["types"].op == "Add" and found["types"].inputs == ("x: float32[2, 3]", "i: int64[2, 3]")
    assert found["special"].opset == "com.example 3"
    assert any("nowhere" in error.message for error in report.problems)
    text = str(report)
    assert text.startswith("the model cannot be converted: 11 problems")
    assert f"4 × {NO_OP} (opset 17): this op is not known" in text and "node 'types' of x: float32[2, 3], i: int64[2, 3]" in text
    assert report.to_dict()["problems"][0]["inputs"] == ["x: float32[2, 3]"]


def test_functions_of_the_model_are_looked_into() -> None:
    body = helper.make_function(
        "own", "Twice", ["a"], ["b"], [node(NO_OP, ["a"], ["t"], "inside"), node("Add", ["t", "t"], ["b"])],
        [helper.make_opsetid("", 17)],
    )  # fmt: skip
    nodes = [helper.make_node("Twice", ["x"], ["y"], name="outer", domain="own")]
    model = model_of(nodes, [value("x", [2])], [value("y")])
    model.functions.append(body)
    model.opset_import.append(helper.make_opsetid("own", 1))
    assert named(check(model)) == [("outer/inside", NO_OP, "17")]


def test_inputs_that_are_no_tensors_and_damaged_constants() -> None:
    nodes = [
        node("Relu", ["x"], ["a"]),
        node(NO_OP, ["x"], ["b"], "other"),
        node("Add", ["a", "c"], ["d"]),
        node("Neg", ["s"], ["e"]),
    ]
    damaged = helper.make_tensor("c", TensorProto.FLOAT, [2], [1.0, 2.0])
    del damaged.float_data[:]
    strings = value("s", [2], TensorProto.STRING)
    report = check(model_of(nodes, [value("x", [2]), strings], [value(name) for name in "abde"], [damaged]))
    assert len(report.problems) == 3
    texts = [error.message for error in report.problems]
    assert any("'s' is a tensor of strings" in text for text in texts) and any("'c'" in text for text in texts)
    assert named(report)[-1] == ("other", NO_OP, "17")


def test_opsets_that_are_too_new() -> None:
    model = model_of([node("Relu", ["x"], ["y"])], [value("x", [2])], [value("y")])
    model.opset_import[0].version = 10_000
    report = check(model)
    assert not report.ok and "10000" in str(report) and report.problems[0].hint


@pytest.mark.parametrize(
    ("nodes", "place", "words"),
    [
        ([node("MatMul", ["x", "w"], ["y"], "m")], "in MatMul node 'm', opset 17, of x: float32[2, 3], w: float32[4, 5]", "3"),
        ([node("Add", ["x", "i"], ["y"], "a")], "in Add node 'a', opset 17, of x: float32[2, 3], i: int64[3]", "dtype"),
        ([node("Relu", ["none"], ["y"], "r")], "in Relu node 'r', opset 17, of none: unknown", "nothing defines"),
        ([node("Concat", ["x"], ["y"], "c")], "in Concat node 'c', opset 17, of x: float32[2, 3]", "'axis' is missing"),
        (
            [node("Clip", ["x", "", "i"], ["y"], "k")],
            "in Clip node 'k', opset 17, of x: float32[2, 3], nothing, i: int64",
            "dtype",
        ),
        ([node("Relu", ["q"], ["y"], "r"), node("Neg", ["y"], ["q"], "n")], "in Relu node 'r', opset 17, of q", "cycle"),
        (
            [node("Pad", ["x", "i"], ["y"], "p", mode="some")],
            "in Pad node 'p', opset 17, of x: float32[2, 3], i: int64[3]",
            "some",
        ),
        ([node("Elu", ["x"], ["y"], "e", alpha="text")], "in Elu node 'e', opset 17, of x: float32[2, 3]", "alpha"),
        (
            [node("Relu", ["x"], ["t"]), node("Transpose", ["t"], ["y"], "p", perm=[0, 1, 2])],
            "in Transpose node 'p', opset 17, of t: float32[2, 3]",
            "perm",
        ),
    ],
)
def test_failures_of_conversion_say_where_and_what_to_do(nodes: list[onnx.NodeProto], place: str, words: str) -> None:
    w = numpy_helper.from_array(np.zeros((4, 5), np.float32), "w")
    model = model_of(nodes, [value("x", [2, 3]), value("i", [3], TensorProto.INT64)], [value("y")], [w])
    with pytest.raises(InvalidModel, match=words) as caught:
        lower(load(model))
    assert place in str(caught.value)
    assert caught.value.hint and "convert the model again" not in caught.value.hint


def test_of_many_operands_the_first_are_said() -> None:
    with pytest.raises(Unsupported, match="not known") as caught:
        lower(load(model_of([node(NO_OP, ["x"] * 12, ["y"])], [value("x", [2])], [value("y")])))
    assert caught.value.inputs == ("x: float32[2]",) * 8 + ("…",) and caught.value.hint


def test_a_tree_over_integers_is_refused() -> None:
    """Their type decides what the ends of the range are."""
    tree = helper.make_node(
        "TreeEnsemble", ["x"], ["y"], name="tree", domain="ai.onnx.ml", aggregate_function=2, n_targets=1, tree_roots=[0],
        nodes_featureids=[0], nodes_truenodeids=[0], nodes_falsenodeids=[1], nodes_trueleafs=[1], nodes_falseleafs=[1],
        leaf_targetids=[0, 0], leaf_weights=numpy_helper.from_array(np.float32([1, 2])),
        nodes_splits=numpy_helper.from_array(np.float32([3])), nodes_modes=numpy_helper.from_array(np.uint8([0])),
    )  # fmt: skip
    model = model_of([tree], [value("x", [2, 1], TensorProto.INT64)], [value("y")])
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 5))
    assert named(check(model)) == [("tree", "TreeEnsemble", "ai.onnx.ml 5")]


@pytest.mark.parametrize(
    ("op", "domain", "hint"),
    [
        ("Rellu", "", "did you mean Relu?"),
        ("maxpool", "", "did you mean MaxPool?"),
        ("Gelu", "", "ONNX has had Gelu since opset 20"),
        ("FusedMatMul", "", "did you mean FusedMatMul of the domain com.microsoft?"),
        ("LabelEncoder", "ai.onnx.ml", "does not say which version of ai.onnx.ml"),
        (NO_OP, "", "replace the op"),
    ],
)
def test_unknown_ops_are_looked_up(op: str, domain: str, hint: str) -> None:
    model = model_of([helper.make_node(op, ["x"], ["y"], domain=domain)], [value("x", [2])], [value("y")])
    (problem,) = check(model).problems
    assert hint in problem.hint


def test_operands_that_are_texts_are_called_so() -> None:
    nodes = [node("StringConcat", ["x", "c"], ["a"], "join"), node("StringNormalizer", ["a"], ["y"], "last")]
    texts = helper.make_tensor("c", TensorProto.STRING, [2], [b"a", b"b"])
    report = check(model_of(nodes, [value("x", ["N"], TensorProto.STRING)], [value("y")], [texts], 20))
    found = {error.node: error.inputs for error in report.problems}
    assert found["join"] == ("x: string[?]", "c: string[2]") and found["last"] == ("a: string[...]",)
    assert sum("holds strings" in error.message for error in report.problems) == 1
