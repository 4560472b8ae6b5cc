"""Where ONNX Runtime is wrong, with the reason: it is not asked there. The evaluator's faults stand in the converter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from .case import Case, Operand, Step


@dataclass(frozen=True)
class Fault:
    """A fault in how some ops are run."""

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


def _coordinates(step: Step) -> str:
    return str(step.attributes.get("coordinate_transformation_mode", ""))


RUNTIME_FAULTS: Final = [
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
