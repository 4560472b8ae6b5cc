"""Chains of two to four ops, drawn one after the other: what the passes fuse, and what the planner places in one buffer."""

from __future__ import annotations

import warnings
from random import Random
from typing import Final

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from jitney.converter.evaluator_faults import evaluator_fault
from jitney.converter.load import load

from .case import Array, Case, Operand, Step
from .draw import Draw, Reject
from .rules import RULES

COMMON: Final = [
    "Conv", "Conv", "Conv", "BatchNormalization", "BatchNormalization", "Relu", "Relu", "Clip", "Sigmoid", "Mul", "Mul",
    "Add", "Add", "HardSigmoid", "HardSwish", "LeakyRelu", "PRelu", "Pad", "Pad", "MaxPool", "AveragePool",
    "GlobalAveragePool", "MatMul", "MatMul", "Gemm", "Transpose", "Transpose", "Reshape", "Reshape", "Concat", "Split",
    "Slice", "Softmax", "LayerNormalization", "Resize", "ReduceMean", "ReduceSum", "Squeeze", "Unsqueeze", "Sub", "Div",
    "Tanh", "Erf", "Gelu", "ConvTranspose", "Expand", "Gather", "DepthToSpace", "SpaceToDepth", "Flatten", "Identity",
    "Sum", "Max", "Min", "InstanceNormalization", "Shape", "Softplus", "Tile",
]  # fmt: skip
MIXED: Final = {
    "Exp", "Log", "Sqrt", "Tan", "Acos", "Acosh", "Asin", "Asinh", "Atanh", "Cosh", "Sinh", "Pow", "Reciprocal", "CastLike",
    "Hardmax", "ReduceProd", "ArgMax", "ArgMin", "NonZero", "Unique", "Round", "Floor", "Ceil", "Sign", "Cast", "Dropout",
    "Mod", "Shrink", "Det", "BitCast",
}  # fmt: skip
"""Ops that blow small errors up, or jump."""
LARGEST: Final = 20000


def chain(random: Random, versions: list[int]) -> Case:
    """A chain over one start value."""
    opset = random.choice([version for version in versions if version >= 13])
    dtype = random.choice(["FLOAT"] * 8 + ["FLOAT16", "INT64"])
    rank = random.choice([1, 2, 3, 3, 4, 4, 4, 5])
    shape = [random.choice([1, 2, 3, 4, 6, 8]) for _ in range(rank)]
    start = Operand("x", dtype, shape, "normal", random.randint(0, 9999))
    operands, steps = [start], list[Step]()
    values = {"x": start.array()}
    live = [start]
    loose = False
    for number in range(random.randint(2, 4)):
        for _ in range(40):
            op = random.choice(COMMON) if random.random() < 0.85 else random.choice(sorted(set(RULES) - MIXED))
            try:
                draw = Draw(random, op, opset, live=live, tame=True)
                RULES[op](draw)
                if not any(name in values for name in draw.inputs):
                    raise Reject
                step = draw.step(f"s{number}_")
                results = _run(step, opset, values, draw.operands)
            except (Reject, ValueError):
                continue
            break
        else:
            break
        operands += draw.operands
        steps.append(step)
        loose |= draw.loose
        values |= results
        made = [Operand(name, _dtype(array), list(array.shape)) for name, array in results.items()]
        live = made + live if random.random() < 0.85 else live + made
    if not steps:
        raise Reject
    read = {name for step in steps for name in step.inputs}
    results_of = [name for step in steps for name in step.outputs if name]
    outputs = [name for name in results_of if name not in read or random.random() < 0.15]
    return Case(opset, steps, operands, outputs, random.random() < 0.4, loose)


def _dtype(array: Array) -> str:
    return str(TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(array.dtype)))


def _run(step: Step, opset: int, values: dict[str, Array], operands: list[Operand]) -> dict[str, Array]:
    """The results of one step: its shapes are needed to go on."""
    case = Case(opset, [step], [*operands], [name for name in step.outputs if name])
    feeds = case.feeds()
    for name in step.inputs:
        if name in values:
            case.operands.append(Operand(name, _dtype(values[name]), list(values[name].shape)))
            feeds[name] = values[name]
    model: onnx.ModelProto = case.model()
    if evaluator_fault(load(model)):
        raise Reject
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            arrays = [np.asarray(array) for array in ReferenceEvaluator(model).run(None, feeds)]
    except Exception as error:
        raise Reject from error
    for array in arrays:
        if not 0 < array.size <= LARGEST or (array.dtype.kind == "f" and not np.all(np.abs(array) < 1e4)):
            raise Reject
    return dict(zip(case.outputs, arrays, strict=True))
