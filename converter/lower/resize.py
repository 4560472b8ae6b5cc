"""Resize and its predecessor Upsample."""

from __future__ import annotations

from onnx import TensorProto

from ..ir import Attribute, Value
from .node import OnnxNode
from .registry import lowers

_MODES = {"nearest": "nearest", "linear": "linear", "bilinear": "linear", "cubic": "cubic"}


@lowers("Upsample")
def upsample_of_images(node: OnnxNode) -> Value:
    """Before opset 7, for height and width alone."""
    scales = [1, 1, node.number("height_scale"), node.number("width_scale")]
    return _without_options(node, node.constant(scales, TensorProto.FLOAT))


@lowers("Upsample", since=7)
def upsample_with_attribute(node: OnnxNode) -> Value:
    return _without_options(node, node.constant(node.numbers("scales") or [], TensorProto.FLOAT))


@lowers("Upsample", since=9)
@lowers("Resize", since=10)
def upsample(node: OnnxNode) -> Value:
    return _without_options(node, node.operand(1))


@lowers("Upsample", since=10)
def upsample_removed(node: OnnxNode) -> Value:
    raise node.invalid("Upsample left ONNX in opset 10", "the model must say opset 9, or use Resize")


def _without_options(node: OnnxNode, scales: Value) -> Value:
    """Up to opset 10, output pixel i lies at i / scale; nearest rounds down where the image grows and up where it shrinks."""
    return _emit(node, [node.operand(0), None, scales], mode=_mode(node), nearest_mode="simple", coordinates="asymmetric")


@lowers("Resize", since=11)
def resize(node: OnnxNode) -> Value:
    coordinates = node.text("coordinate_transformation_mode")
    x, roi, scales, sizes = node.operand(0), node.input(1), _unless_empty(node, node.input(2)), _unless_empty(node, node.input(3))
    if node.since < 13 and sizes is not None and (scales is None or not scales.is_constant):
        scales = None  # could not be left out yet: what is fed must be empty
    if (scales is None) == (sizes is None):
        raise node.invalid("either scales or sizes are wanted, " + ("and none is given" if scales is None else "not both"))
    return _emit(
        node,
        [x, sizes, scales, _unless_empty(node, roi) if coordinates == "tf_crop_and_resize" else None],
        mode=_mode(node),
        coordinates=coordinates,
        fractional_length=int(node.since >= 19),
        nearest_mode=node.text("nearest_mode"),
        cubic_a=node.number("cubic_coeff_a"),
        exclude_outside=node.integer("exclude_outside"),
        extrapolation_value=node.number("extrapolation_value"),
        antialias=node.integer("antialias") if node.has("antialias") else 0,
        axes=node.integers("axes") or [],
        aspect=node.text("keep_aspect_ratio_policy") if node.has("keep_aspect_ratio_policy") else "stretch",
    )


def _emit(node: OnnxNode, operands: list[Value | None], **attributes: Attribute) -> Value:
    defaults: dict[str, Attribute] = {
        "cubic_a": -0.75,
        "exclude_outside": 0,
        "extrapolation_value": 0.0,
        "antialias": 0,
        "axes": [],
        "aspect": "stretch",
    }
    return node.emit("resize", operands, **{**defaults, **attributes})


def _mode(node: OnnxNode) -> str:
    mode = _MODES.get(node.text("mode"))
    if mode is None:
        raise node.invalid(f"mode is '{node.text('mode')}', which is not among {sorted(_MODES)}")
    return mode


def _unless_empty(node: OnnxNode, value: Value | None) -> Value | None:
    """Exporters leave an operand out by giving a tensor without elements."""
    if value is None:
        return None
    shape = node.shape(value)
    return None if shape is not None and list(shape) == [0] else value
