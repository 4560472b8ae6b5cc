"""Models as onnxruntime.quantization writes them (QDQ, QOperator, dynamic) convert and give ONNX Runtime's results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from op_check import Array, floats, run_jny


def make_cnn() -> onnx.ModelProto:
    """Two convolutions, a residual, a pool and a classifier."""
    weights = {
        "w1": floats(8, 3, 3, 3) * 0.3,
        "b1": floats(8, seed=1) * 0.1,
        "w2": floats(8, 8, 3, 3, seed=2) * 0.2,
        "b2": floats(8, seed=3) * 0.1,
        "w3": floats(8, 10, seed=4) * 0.5,
        "b3": floats(10, seed=5) * 0.1,
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], "conv1", pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], "conv2", pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["r1", "c2"], ["a"], "add"),
        helper.make_node("GlobalAveragePool", ["a"], ["p"], "pool"),
        helper.make_node("Flatten", ["p"], ["f"], "flatten"),
        helper.make_node("MatMul", ["f", "w3"], ["m"], "matmul"),
        helper.make_node("Add", ["m", "b3"], ["y"], "bias"),
    ]
    graph = helper.make_graph(
        nodes,
        "cnn",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 10])],
        [numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def run_onnx_runtime(path: Path, x: Array) -> Array:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    y: Array = session.run(None, {"x": x})[0]
    return y


def quantise_statically(folder: Path, **options: Any) -> Path:
    from onnxruntime.quantization import CalibrationDataReader, quantize_static

    class Samples(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.feeds: Iterator[dict[str, Array]] = iter([{"x": floats(1, 3, 16, 16, seed=seed)} for seed in range(4)])

        def get_next(self) -> dict[str, Array] | None:
            return next(self.feeds, None)

    onnx.save(make_cnn(), folder / "float.onnx")
    quantize_static(folder / "float.onnx", folder / "quantised.onnx", Samples(), **options)
    return folder / "quantised.onnx"


def check_against_onnx_runtime(path: Path, step: float) -> None:
    """Sums of floats in another order may fall on the other side of a rounding: that moves a result by a step."""
    x = floats(3, 3, 16, 16, seed=9)
    expected = run_onnx_runtime(path, x)
    assert np.ptp(expected) > 10 * step
    for simplify in (False, True):
        y = run_jny(onnx.load(path), {"x": x}, simplify=simplify)["y"]
        assert y.shape == expected.shape
        assert np.abs(y - expected).max() <= step * 1.001
        assert np.mean(y == expected) > 0.8


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
def test_static(tmp_path: Path, form: str, per_channel: bool) -> None:
    from onnxruntime.quantization import QuantFormat

    path = quantise_statically(tmp_path, quant_format=QuantFormat[form], per_channel=per_channel)
    ops = {node.op_type for node in onnx.load(path).graph.node}
    assert "DequantizeLinear" in ops
    assert ("QLinearConv" in ops) == (form == "QOperator")
    check_against_onnx_runtime(path, _output_step(path))


def test_sixteen_bits(tmp_path: Path) -> None:
    from onnxruntime.quantization import QuantFormat, QuantType

    path = quantise_statically(
        tmp_path, quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt16, extra_options={"UseQDQContribOps": True}
    )
    assert any(node.domain == "com.microsoft" for node in onnx.load(path).graph.node)
    expected, y = (run(path, floats(3, 3, 16, 16, seed=9)) for run in (run_onnx_runtime, _run))
    np.testing.assert_allclose(y, expected, atol=3 * _output_step(path))


def test_dynamic(tmp_path: Path) -> None:
    from onnxruntime.quantization import quantize_dynamic

    onnx.save(make_cnn(), tmp_path / "float.onnx")
    quantize_dynamic(tmp_path / "float.onnx", tmp_path / "quantised.onnx", op_types_to_quantize=["Conv", "MatMul"])
    ops = {node.op_type for node in onnx.load(tmp_path / "quantised.onnx").graph.node}
    assert {"DynamicQuantizeLinear", "ConvInteger", "MatMulInteger"} <= ops
    x = floats(3, 3, 16, 16, seed=9)
    expected = run_onnx_runtime(tmp_path / "quantised.onnx", x)
    np.testing.assert_allclose(_run(tmp_path / "quantised.onnx", x), expected, rtol=1e-4, atol=1e-4)


def _run(path: Path, x: Array) -> Array:
    return run_jny(onnx.load(path), {"x": x})["y"]


def _output_step(path: Path) -> float:
    """The scale that the result is quantised with."""
    graph = onnx.load(path).graph
    last = next(node for node in graph.node if "y" in node.output)
    assert last.op_type == "DequantizeLinear"
    scale = next(tensor for tensor in graph.initializer if tensor.name == last.input[1])
    return float(numpy_helper.to_array(scale))
