"""The conversion as users call it: options, report, metadata, dumps, determinism."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import defs, helper, numpy_helper
from op_check import floats, model_of, value

from jitney import Session
from jitney.converter import convert
from jitney.converter.lower import lowered_ops
from jitney.errors import InvalidInput


def network() -> onnx.ModelProto:
    weights = [numpy_helper.from_array(floats(4, 3, 3, 3), "w"), numpy_helper.from_array(floats(4), "b")]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], name="act"),
        helper.make_node("GlobalAveragePool", ["r"], ["y"], name="pool"),
    ]
    model = model_of(nodes, [value("x", ["N", 3, "H", "W"])], [value("y")], weights)
    model.producer_name, model.doc_string = "tests", "a small network"
    model.metadata_props.add(key="classes", value="cat,dog")
    return model


def test_the_report(tmp_path: Path) -> None:
    onnx.save(network(), tmp_path / "m.onnx")
    report = convert(tmp_path / "m.onnx")
    assert report.output == str(tmp_path / "m.jny")
    assert report.onnx_nodes == 3 and report.lowered_nodes == 3 and report.nodes == 2
    assert report.bytes == (tmp_path / "m.jny").stat().st_size
    assert {"load", "lower", "simplify", "write", "verify"} <= set(report.seconds)
    assert "verified against" in str(report)
    assert json.loads(json.dumps(report.to_dict()))["nodes"] == {"onnx": 3, "lowered": 3, "final": 2}


def test_metadata_travels(tmp_path: Path) -> None:
    convert(network(), tmp_path / "m.jny")
    metadata = Session(tmp_path / "m.jny").metadata
    assert metadata["onnx.producer_name"] == "tests"
    assert metadata["onnx.description"] == "a small network"
    assert metadata["onnx.opset"] == "ai.onnx 17"
    assert metadata["onnx.meta.classes"] == "cat,dog"
    assert "jitney.version" in metadata


def test_the_same_model_gives_the_same_file(tmp_path: Path) -> None:
    data = network().SerializeToString()
    convert(data, tmp_path / "a.jny")
    convert(data, tmp_path / "b.jny", verify=False)
    assert (tmp_path / "a.jny").read_bytes() == (tmp_path / "b.jny").read_bytes()


def test_the_model_given_is_not_changed(tmp_path: Path) -> None:
    model = network()
    before = model.SerializeToString(deterministic=True)
    convert(model, tmp_path / "m.jny", dynamic_batch=True)
    assert model.SerializeToString(deterministic=True) == before


def test_shapes_are_fixed(tmp_path: Path) -> None:
    convert(network(), tmp_path / "m.jny", shapes={"x": ("N", 3, 8, 8)})
    with Session(tmp_path / "m.jny") as session:
        assert session.inputs[0].shape == ("N", 3, 8, 8)
        assert session.outputs[0].shape == ("N", 4, 1, 1)


def test_dump_and_stop_after(tmp_path: Path) -> None:
    report = convert(network(), tmp_path / "m.jny", dump=tmp_path / "dump", stop_after="fold_constants")
    assert report.nodes == 3 and report.passes[-1].name == "fold_constants"
    texts = sorted((tmp_path / "dump").iterdir())
    assert "conv(%x" in texts[0].read_text() and "float32[N, 4, H, W]" in texts[0].read_text()
    with pytest.raises(InvalidInput, match="no pass 'nonsense'"):
        convert(network(), tmp_path / "m.jny", stop_after="nonsense")


def test_progress_goes_forward(tmp_path: Path) -> None:
    seen: list[tuple[str, float]] = []
    convert(network(), tmp_path / "m.jny", progress=lambda stage, fraction: seen.append((stage, fraction)))
    stages, fractions = zip(*seen, strict=True)
    assert stages[0] == "load" and stages[-1] == "done" and fractions[-1] == 1.0
    assert all(0 <= fraction <= 1 for fraction in fractions)


def test_a_failing_conversion_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "m.jny").write_bytes(b"old")
    with pytest.raises(InvalidInput):
        convert(network(), tmp_path / "m.jny", sample={"z": np.zeros(1)})
    assert [path.name for path in tmp_path.iterdir()] == ["m.jny"]
    assert (tmp_path / "m.jny").read_bytes() == b"old"


def test_every_lowering_is_for_a_version_that_exists() -> None:
    """A registration's version is that of a schema, unless it is for all versions: then it precedes the first."""
    versions: dict[tuple[str, str], set[int]] = {}
    for schema in defs.get_all_schemas_with_history():
        versions.setdefault((schema.domain, schema.name), set()).add(schema.since_version)
    for domain, op, since in lowered_ops():
        known = versions.get((domain, op))
        assert known is None or since in known or since < min(known), f"{op} has no version {since}"
