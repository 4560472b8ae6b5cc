"""Where the references are wrong, with the reason: they are not asked there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from .case import Case, Operand, Step


@dataclass(frozen=True)
class Fault:
    """A fault in how a reference runs some ops."""

    ops: frozenset[str]
    reason: str
    when: Callable[[Case, Step], bool]

    def concerns(self, case: Case, step: Step) -> bool:
        return step.op in self.ops and self.when(case, step)


def _fault(ops: str, reason: str, when: Callable[[Case, Step], bool] = lambda case, step: True) -> Fault:
    return Fault(frozenset(ops.split()), reason, when)


def _operand(case: Case, step: Step, index: int) -> Operand | None:
    """Operand `index` of the step if it comes from no other step."""
    names = {operand.name: operand for operand in case.operands}
    return names.get(step.inputs[index]) if index < len(step.inputs) else None


def _same_padding(step: Step) -> bool:
    return str(step.attributes.get("auto_pad", "")).startswith("SAME")


def _pads_itself_and_dilates(case: Case, step: Step) -> bool:
    automatic = step.attributes.get("auto_pad", "NOTSET") != "NOTSET"
    return automatic and any(apart > 1 for apart in step.attributes.get("dilations", []))


def _strides_over_small_pictures(case: Case, step: Step) -> bool:
    """Whether padding is automatic on an axis that is shorter than the kernel and walked in steps."""
    x, kernel = _operand(case, step, 0), step.attributes.get("kernel_shape", [])
    automatic = str(step.attributes.get("auto_pad", "")).startswith("SAME")
    strides = step.attributes.get("strides", [1] * len(kernel))
    return automatic and x is not None and any(s < k and by > 1 for s, k, by in zip(x.shape[2:], kernel, strides))


def _has_uneven_pads(case: Case, step: Step) -> bool:
    return len(set(step.attributes.get("pads", [0]))) > 1


def _grows_beyond_kernel(case: Case, step: Step) -> bool:
    """A transposed convolution whose wanted size is larger than what its windows cover, so that its padding would be negative."""
    weights = _operand(case, step, 1)
    if not _same_padding(step) or weights is None:
        return False
    rank = len(weights.shape) - 2
    dilations = step.attributes.get("dilations", [1] * rank)
    extra = step.attributes.get("output_padding", [0] * rank)
    strides = step.attributes.get("strides", [1] * rank)
    reach = [(size - 1) * apart + 1 + more for size, apart, more in zip(weights.shape[2:], dilations, extra)]
    return any(wide < stride for wide, stride in zip(reach, strides))


def _wants_indices_of_volumes(case: Case, step: Step) -> bool:
    return len(step.outputs) > 1 and bool(step.outputs[1]) and len(step.attributes["kernel_shape"]) == 3


def _plain_windows(step: Step) -> bool:
    return not ({"pads", "auto_pad", "dilations", "ceil_mode"} & set(step.attributes))


def _bounds(step: Step) -> tuple[int, int]:
    return step.attributes.get("start", 0), step.attributes.get("end", 0)


def _has_uneven_scales(case: Case, step: Step) -> bool:
    operands = [operand for operand in case.operands if operand.name in step.inputs[1:] and operand.dtype == "FLOAT"]
    if step.attributes.get("mode", "nearest") == "nearest" and len(step.inputs) > 3:
        return True
    scales = [value for operand in operands for value in operand.values or []] + list(step.attributes.get("scales", []))
    return any(value * 4 != int(value * 4) for value in scales)


def _is_double(operand: Operand | None) -> bool:
    return operand is not None and operand.dtype == "DOUBLE"


def _aligns_uneven_corners(case: Case, step: Step) -> bool:
    scales = _operand(case, step, 2)
    values = (scales.values or []) if scales is not None else []
    return _coordinates(step) == "align_corners" and any(value != int(value) for value in values)


def _crops_without_resizing(case: Case, step: Step) -> bool:
    if _coordinates(step) != "tf_crop_and_resize":
        return False
    x, sizes = _operand(case, step, 0), _operand(case, step, 3)
    if x is None or sizes is None:
        return True
    shape = [x.shape[axis] for axis in step.attributes.get("axes", range(len(x.shape)))]
    return any(old == new for old, new in zip(shape, sizes.values or []))


def _keeps_sizes(case: Case, step: Step) -> bool:
    x, scales = _operand(case, step, 0), _operand(case, step, 1 if len(step.inputs) == 2 else 2)
    if x is None or scales is None or not scales.values:
        return False
    shape = [x.shape[axis] for axis in step.attributes.get("axes", range(len(x.shape)))]
    return all(int(size * scale) == size for size, scale in zip(shape, scales.values)) and set(scales.values) != {1.0}


def _is_cubic(case: Case, step: Step) -> bool:
    return step.attributes.get("mode") in ("cubic", "bicubic")


def _coordinates(step: Step) -> str:
    return str(step.attributes.get("coordinate_transformation_mode", ""))


def _is_narrow(case: Case) -> bool:
    return any(operand.dtype in ("INT8", "INT16", "INT32", "UINT8", "UINT16", "UINT32") for operand in case.operands)


def _several_outputs_a_group(case: Case, step: Step) -> bool:
    return step.attributes.get("group", 1) > 1


EVALUATOR_FAULTS: Final = [
    _fault("MaxPool AveragePool LpPool", "forgets dilations where it finds the padding itself", _pads_itself_and_dilates),
    _fault(
        "MaxPool AveragePool", "counts padding twice where it rounds sizes up", lambda c, s: s.attributes.get("ceil_mode", 0) == 1
    ),
    _fault("MaxPool AveragePool", "mixes up the pads of different axes", _has_uneven_pads),
    _fault("MaxPool", "counts indices of volumes from each sample's own start", _wants_indices_of_volumes),
    _fault("LpPool", "scales windows that reach into padding, and forgets dilations", lambda c, s: not _plain_windows(s)),
    _fault("AffineGrid", "gives float32 whatever it is given", lambda c, s: _is_double(_operand(c, s, 0))),
    _fault(
        "Unique",
        "takes rows, whatever the axis, in order of appearance",
        lambda c, s: "axis" in s.attributes and not s.attributes.get("sorted", 1),
    ),
    _fault(
        "Mean", "adds up in 16 bits, beyond whose range a sum may be", lambda c, s: any(o.dtype == "FLOAT16" for o in c.operands)
    ),
    _fault("Shape", "slices by bounds before the first axis", lambda c, s: min(_bounds(s)) < 0),
    _fault("Resize Upsample", "takes float64 for coordinates, so that ties fall elsewhere", _has_uneven_scales),
    _fault("GridSample", "moves points into the border before it takes their neighbours", _is_cubic),
    _fault(
        "Resize",
        "aligns the corners of sizes before they are rounded down, as is done from opset 19 on",
        lambda c, s: c.opset < 19 and _aligns_uneven_corners(c, s),
    ),
    _fault("Resize", "places a single pixel at -0.5", lambda c, s: _coordinates(s) == "pytorch_half_pixel"),
    _fault("ReduceSumSquare ReduceSum ReduceProd ReduceL1", "widens integers of 32 bits and less", lambda c, s: _is_narrow(c)),
    _fault("QLinearConv QLinearMatMul", "rounds products of scales elsewhere"),
    _fault("ConvTranspose", "rounds negative padding towards the other side", _grows_beyond_kernel),
    _fault("ConvTranspose", "pads nothing where output_shape is given without SAME", lambda c, s: "output_shape" in s.attributes),
    _fault("ConvTranspose", "writes one output for each group", _several_outputs_a_group),
]
RUNTIME_FAULTS: Final = [
    _fault("MaxPool AveragePool LpPool", "finds no place for a kernel larger than the picture", _strides_over_small_pictures),
    _fault(
        "Resize",
        "aligns the corners of sizes that it has rounded down, as was done before opset 19",
        lambda c, s: c.opset >= 19 and _aligns_uneven_corners(c, s),
    ),
    _fault(
        "Resize",
        "crops no axis that keeps its size",
        _crops_without_resizing,
    ),
    _fault("Resize Upsample", "returns its operand where all sizes stay, whatever the scales", _keeps_sizes),
    _fault("AffineGrid", "divides by zero where there is one pixel", lambda c, s: bool(s.attributes.get("align_corners"))),
    _fault("MaxPool AveragePool LpPool", "forgets dilations where it finds the padding itself", _pads_itself_and_dilates),
    _fault("ConvTranspose", "takes negative padding for none", _grows_beyond_kernel),
]
