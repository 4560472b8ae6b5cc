"""Which ONNX nodes onnx's evaluator computes wrongly: where only it can be asked, a difference there speaks against nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import onnx
from onnx import TensorProto, helper, numpy_helper

from .load import Loaded, canonical_domain

_NARROW: Final = {
    *(TensorProto.INT8, TensorProto.INT16, TensorProto.INT32),
    *(TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32),
}
_SMALL_FLOATS: Final = {number for name, number in TensorProto.DataType.items() if name.startswith(("FLOAT4", "FLOAT8"))}


@dataclass(frozen=True)
class _Site:
    """A node and what is known about it without running the model."""

    node: onnx.NodeProto
    opset: int
    attributes: Mapping[str, Any]
    constants: Mapping[str, onnx.TensorProto]
    dtypes: Mapping[str, int]

    def dtype(self, index: int) -> int:
        return self.dtypes.get(self.node.input[index], 0) if index < len(self.node.input) else 0

    def text(self, name: str) -> str:
        value = self.attributes.get(name, b"")
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    @property
    def pads_itself(self) -> bool:
        return self.text("auto_pad") not in ("", "NOTSET")


@dataclass(frozen=True)
class _Fault:
    ops: frozenset[str]
    reason: str
    when: Callable[[_Site], bool]


def _fault(ops: str, reason: str, when: Callable[[_Site], bool] = lambda site: True) -> _Fault:
    return _Fault(frozenset(ops.split()), reason, when)


def _dilates(site: _Site) -> bool:
    return any(apart > 1 for apart in site.attributes.get("dilations", []))


def _has_uneven_scales(site: _Site) -> bool:
    """Whether ties fall elsewhere in 64 bits; scales that are not known may do so."""
    if site.text("mode") in ("", "nearest") and len(site.node.input) > 3 and site.node.input[3]:
        return True
    listed = list(site.attributes.get("scales", []))
    for name in [name for name in site.node.input[1:3] if name]:
        tensor = site.constants.get(name)
        if tensor is None or tensor.external_data:
            return True
        listed += numpy_helper.to_array(tensor).reshape(-1).tolist() if tensor.data_type == TensorProto.FLOAT else []
    return any(value * 4 != int(value * 4) for value in listed)


def _grows_beyond_kernel(site: _Site) -> bool:
    return site.text("auto_pad").startswith("SAME") and any(stride > 1 for stride in site.attributes.get("strides", []))


_FAULTS: Final = (
    _fault("AveragePool", "dilations where padding is automatic", lambda s: s.pads_itself and _dilates(s)),
    _fault("AveragePool", "windows larger than the picture", lambda s: s.text("auto_pad") == "VALID"),
    _fault("MaxPool", "windows and indices where padding is automatic", lambda s: s.pads_itself),
    _fault("MaxPool AveragePool", "sizes that are rounded up", lambda s: s.attributes.get("ceil_mode", 0) == 1),
    _fault("MaxPool AveragePool", "pads that differ", lambda s: len(set(s.attributes.get("pads", [0]))) > 1),
    _fault(
        "MaxPool",
        "indices in volumes",
        lambda s: len([name for name in s.node.output if name]) > 1 and len(s.attributes.get("kernel_shape", [])) == 3,
    ),
    _fault(
        "LpPool",
        "windows that reach into padding, and dilations",
        lambda s: s.pads_itself or any(name in s.attributes for name in ("pads", "dilations", "ceil_mode")),
    ),
    _fault("Mean", "sums beyond the range of 16 bits", lambda s: s.dtype(0) == TensorProto.FLOAT16),
    _fault(
        "LayerNormalization",
        "type of mean and deviation",
        lambda s: any(s.node.output[1:]) and s.dtype(0) != TensorProto.FLOAT,
    ),
    _fault("AffineGrid", "float64", lambda s: s.dtype(0) == TensorProto.DOUBLE),
    _fault(
        "Unique",
        "rows in order of appearance",
        lambda s: "axis" in s.attributes and not s.attributes.get("sorted", 1),
    ),
    _fault("Shape", "bounds before the first axis", lambda s: min(s.attributes.get("start", 0), s.attributes.get("end", 0)) < 0),
    _fault("Resize Upsample", "coordinates in 32 bits", _has_uneven_scales),
    _fault("Resize", "single pixels", lambda s: s.text("coordinate_transformation_mode") == "pytorch_half_pixel"),
    _fault(
        "Resize",
        "corners of sizes that are rounded down",
        lambda s: s.opset < 19 and s.text("coordinate_transformation_mode") == "align_corners",
    ),
    _fault("DequantizeLinear", "zero points that are no integers", lambda s: s.dtype(2) in _SMALL_FLOATS),
    _fault("OneHot", "depths below 1", lambda s: s.node.input[1] not in s.constants),
    _fault("GridSample", "neighbours beyond the border", lambda s: s.text("mode") in ("cubic", "bicubic")),
    _fault("ReduceSumSquare ReduceSum ReduceProd ReduceL1", "integers of 32 bits and less", lambda s: s.dtype(0) in _NARROW),
    _fault("QLinearConv QLinearMatMul", "rounding"),
    _fault("ConvTranspose", "negative padding", _grows_beyond_kernel),
    _fault("ConvTranspose", "output_shape", lambda s: "output_shape" in s.attributes),
    _fault("ConvTranspose", "groups", lambda s: s.attributes.get("group", 1) > 1),
)


def evaluator_fault(loaded: Loaded) -> str:
    """What of the model onnx's evaluator is known to compute wrongly, in words; empty if nothing."""
    graph = loaded.proto.graph
    dtypes = {info.name: info.type.tensor_type.elem_type for info in (*graph.input, *graph.value_info, *graph.output)}
    dtypes |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    dtypes |= _inferred(loaded.proto)
    for node, constants, opsets in _nodes(loaded):
        if canonical_domain(node.domain):
            continue
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute if not each.ref_attr_name}
        site = _Site(node, opsets.get("", 0), attributes, constants, dtypes)
        for fault in _FAULTS:
            if node.op_type in fault.ops and fault.when(site):
                return f"the {fault.reason} of {node.op_type} ('{node.name or node.output[0]}')"
    return ""


def _inferred(proto: onnx.ModelProto) -> dict[str, int]:
    try:
        inferred = onnx.shape_inference.infer_shapes(proto)
    except Exception:  # models of more than 2 GB, or such as break the standard: then less is known
        return {}
    return {info.name: info.type.tensor_type.elem_type for info in inferred.graph.value_info}


def _nodes(loaded: Loaded) -> Iterator[tuple[onnx.NodeProto, Mapping[str, onnx.TensorProto], Mapping[str, int]]]:
    """All nodes, with the constants of their graph and the opsets in which they are written."""
    graphs = [loaded.proto.graph]
    while graphs:
        graph = graphs.pop()
        constants = {tensor.name: tensor for tensor in graph.initializer}
        constants |= {node.output[0]: each.t for node in graph.node for each in node.attribute if each.name == "value"}
        for node in graph.node:
            graphs += [each.g for each in node.attribute if each.HasField("g")]
            yield node, constants, loaded.opsets
    for function in loaded.proto.functions:
        opsets = {canonical_domain(entry.domain): entry.version for entry in function.opset_import}
        for node in function.node:
            yield node, {}, opsets
