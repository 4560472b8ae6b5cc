"""What the tests of jitney.ort share: most run on ONNX Runtime as well, so that both are held to the same words."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64

both = pytest.mark.parametrize("ort", ["onnxruntime", "jitney.ort"], indirect=True)


def exceptions(ort: ModuleType) -> Any:
    """Where ONNX Runtime's exceptions are found."""
    return ort.capi.onnxruntime_pybind11_state


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def value_info(name: str, dims: Sequence[int | str | None] | None, dtype: int = FLOAT) -> onnx.ValueInfoProto:
    """A tensor's description with just these dims: None for one without a name, dims=None for no shape at all."""
    info = onnx.ValueInfoProto(name=name)
    info.type.tensor_type.elem_type = dtype
    if dims is None:
        return info
    info.type.tensor_type.shape.SetInParent()
    for dim in dims:
        added = info.type.tensor_type.shape.dim.add()
        if isinstance(dim, int):
            added.dim_value = dim
        elif dim is not None:
            added.dim_param = dim
    return info


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    constants: dict[str, np.ndarray] | None = None,
    ir_version: int = 8,
) -> onnx.ModelProto:
    tensors = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(list(nodes), "graph", list(inputs), list(outputs), tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=ir_version)


def adding(left: Sequence[Any] = ("N", 2), right: Sequence[Any] = ("N", 2)) -> onnx.ModelProto:
    """total = left + right, result = relu(total)."""
    nodes = [
        helper.make_node("Add", ["left", "right"], ["total"], name="sum"),
        helper.make_node("Relu", ["total"], ["result"], name="rectify"),
    ]
    inputs = [value_info("left", left), value_info("right", right)]
    return model(nodes, inputs, [value_info("total", ["N", 2]), value_info("result", ["N", 2])])


def one_op(
    op: str, dims: Sequence[Any] | None, dtype: int = FLOAT, result: int | None = None, **attributes: Any
) -> onnx.ModelProto:
    """y = op(x)."""
    node = helper.make_node(op, ["x"], ["y"], **attributes)
    return model([node], [value_info("x", dims, dtype)], [value_info("y", None, result or dtype)])


def session(ort: ModuleType, proto: onnx.ModelProto, *arguments: Any, **options: Any) -> Any:
    return ort.InferenceSession(proto.SerializeToString(), *arguments, **options)


def load(name: str) -> ModuleType:
    module = importlib.import_module(name)
    module.set_default_logger_severity(4)
    return module
