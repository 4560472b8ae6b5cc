"""What others say that a case gives: ONNX Runtime and onnx's evaluator, and where each of them is known to be wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import ml_dtypes
import numpy as np
from onnx import defs
from onnx.reference import ReferenceEvaluator

from jitney.converter.corrected_ops import CORRECTED, name_results
from jitney.converter.evaluator_faults import evaluator_fault
from jitney.converter.load import load

from .case import Array, Case
from .known_faults import RUNTIME_FAULTS

Results = dict[str, Array]


def onnx_runtime(case: Case, noise: int) -> Results:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(case.model(noise).SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip(case.outputs, map(np.asarray, session.run(None, case.feeds(noise))), strict=True))


def evaluator(case: Case, noise: int) -> Results:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        model = case.model(noise)
        name_results(model.graph)
        results = ReferenceEvaluator(model, new_ops=[*CORRECTED]).run(None, case.feeds(noise))
    return dict(zip(case.outputs, map(np.asarray, results), strict=True))


def _widened(run: Callable[[Case, int], Results]) -> Callable[[Case, int], Results]:
    """Bfloat16 is computed in float32 and rounded at the end: one reference has none of it, the other rounds after every step."""

    def widened(case: Case, noise: int) -> Results:
        if len(case.steps) > 1 or case.steps[0].op in _TYPED or not any(operand.dtype == "BFLOAT16" for operand in case.operands):
            return run(case, noise)
        step = case.steps[0]
        schema = defs.get_schema(step.op, case.opset)
        dtypes = {operand.name: operand.dtype for operand in case.operands}
        formal = [schema.inputs[min(index, len(schema.inputs) - 1)] for index in range(len(step.inputs))]
        narrow = {each.type_str for each, name in zip(formal, step.inputs) if dtypes.get(name) == "BFLOAT16"}
        operands = [
            replace(operand, dtype="FLOAT", fill="listed", values=operand.array(noise).astype(np.float32).ravel().tolist())
            if operand.dtype == "BFLOAT16"
            else operand
            for operand in case.operands
        ]
        results = run(replace(case, operands=operands), noise)
        for index, name in enumerate(step.outputs):
            if name and schema.outputs[min(index, len(schema.outputs) - 1)].type_str in narrow:
                results[name] = results[name].astype(ml_dtypes.bfloat16)
        return results

    return widened


def in_float64(case: Case) -> Results:
    """The evaluator's results for the same numbers in float64, rounded at the end: where float32 loses digits, who is right."""
    if any(step.op in _TYPED for step in case.steps):
        raise ValueError("the types of operands belong to the meaning of these ops")
    operands = [
        replace(operand, dtype="DOUBLE", fill="listed", values=operand.array().astype(np.float64).ravel().tolist())
        if operand.dtype in _ROUNDED
        else operand
        for operand in case.operands
    ]
    return evaluator(replace(case, operands=operands), 0)


_ROUNDED: Final = {"FLOAT", "FLOAT16", "BFLOAT16"}
_TYPED: Final = {"Cast", "CastLike", "BitCast", "EyeLike", "Softmax", "LogSoftmax"}
"""Ops to whose meaning the type of their operand belongs; softmax rounds each step of its definition to it."""
REFERENCES: Final[dict[str, Callable[[Case, int], Results]]] = {
    "ONNX Runtime": _widened(onnx_runtime),
    "evaluator": _widened(evaluator),
}


def known_fault(name: str, case: Case) -> str:
    """Why this reference is not asked about this case; empty if it is."""
    if name == "evaluator":
        return evaluator_fault(load(case.model()))
    return next((fault.reason for fault in RUNTIME_FAULTS if any(fault.concerns(case, step) for step in case.steps)), "")
