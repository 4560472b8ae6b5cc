"""The lists: a lost pass, a new pass and another way to fail are complained about; reasons that people wrote are kept."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from judge import PASS, Outcome, compare, judge
from onnx import TensorProto, helper
from page import render
from ratchet import Lists
from scope import in_scope, is_core
from suite import Case

FAILED = Outcome("value", "1 of 2 elements")


def lists() -> Lists:
    return Lists("1.0", {"a", "b"}, {"c": Outcome("value", "! ties may be ranked either way"), "d": Outcome("unsupported", "no")})


def outcomes(**changed: Outcome) -> dict[str, Outcome]:
    return {"a": Outcome(PASS), "b": Outcome(PASS), "c": FAILED, "d": Outcome("unsupported", "other words")} | changed


def test_nothing_to_complain_about() -> None:
    assert lists().complaints("1.0", outcomes()) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"a": FAILED}, "a passed and is lost now: value"),
        ({"d": Outcome(PASS)}, "d passes now, but is not in"),
        ({"d": Outcome("crash", "killed")}, r"another way than fails.txt says \(unsupported\): crash"),
        ({"e": FAILED}, "not listed"),
    ],
)
def test_complaints(changed: dict[str, Outcome], words: str) -> None:
    found = lists().complaints("1.0", outcomes(**changed))
    assert len(found) == 1
    assert re.search(words, found[0])


def test_a_test_that_is_gone() -> None:
    fewer = outcomes()
    del fewer["a"]
    assert lists().complaints("1.0", fewer) == ["a is listed, but there is no such test"]


def test_another_version_of_onnx() -> None:
    assert "onnx 1.0" in lists().complaints("1.1", outcomes())[0]


def test_update_and_files(tmp_path: Path) -> None:
    updated = lists().updated("1.1", outcomes(b=FAILED, d=Outcome("dtype", "int8 instead of int4")))
    assert updated.fails["c"].reason == "! ties may be ranked either way"
    updated.write(tmp_path)
    read = Lists.read(tmp_path)
    assert (read.onnx, read.passes, read.fails) == ("1.1", {"a"}, updated.fails)
    assert read.complaints("1.1", outcomes(b=FAILED, d=Outcome("dtype"))) == []
    page = render(read, {"core": ["a"], "in scope": ["a", "b"], "all": list("abcd")})
    assert "| **Jitney** | 1 (100.0%) | 1 (50.0%) | 1 (25.0%) |" in page and "ties may be ranked either way" in page


def model(element: int, op: str = "Relu", domain: str = "") -> onnx.ModelProto:
    infos = [helper.make_tensor_value_info(name, element, [2]) for name in "xy"]
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], domain=domain)], "g", infos[:1], infos[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_scopes_follow_from_types_and_domains() -> None:
    assert is_core(model(TensorProto.FLOAT)) and in_scope(model(TensorProto.FLOAT))
    assert in_scope(model(TensorProto.BFLOAT16)) and not is_core(model(TensorProto.BFLOAT16))
    assert in_scope(model(TensorProto.FLOAT, "RandomNormalLike")) and not is_core(model(TensorProto.FLOAT, "RandomNormalLike"))
    assert not in_scope(model(TensorProto.STRING))
    assert not in_scope(model(TensorProto.FLOAT, "Adam", "ai.onnx.preview.training"))
    assert not in_scope(model(TensorProto.FLOAT, "SequenceConstruct"))


def test_all_of_value_shape_and_dtype_count() -> None:
    wanted = np.array([1.0, np.nan, np.inf], np.float32)
    assert compare([wanted * np.float32(1.0005)], [wanted], 1e-3, 0).kind == PASS
    assert compare([wanted * np.float32(1.01)], [wanted], 1e-3, 0).kind == "value"
    assert compare([wanted.astype(np.float64)], [wanted], 1e-3, 0).kind == "dtype"
    assert compare([wanted[:2]], [wanted], 1e-3, 0).kind == "shape"
    assert compare([wanted, wanted], [wanted], 1e-3, 0).kind == "count"
    whole = np.array([1000, 7])
    assert compare([whole + 1], [whole], 0.1, 10).kind == "value"
    assert compare([[whole, whole]], [[whole, whole]], 0, 0).kind == PASS
    assert compare([[whole]], [[whole, whole]], 0, 0).kind == "count"


def test_a_case_runs_through_the_converter_and_the_runtime() -> None:
    fed, wanted = np.array([-1, 2], np.float32), np.array([0, 2], np.float32)
    assert judge(Case("own/test", model(TensorProto.FLOAT), [([fed], [wanted])], 0, 0)).kind == PASS
    assert judge(Case("own/test", model(TensorProto.FLOAT), [([fed], [fed])], 0, 0)).kind == "value"
    unknown = judge(Case("own/test", model(TensorProto.FLOAT, "NoSuchOp"), [([fed], [wanted])], 0, 0))
    assert unknown.kind == "unsupported" and "NoSuchOp" in unknown.reason
