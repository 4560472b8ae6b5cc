"""Runs the ONNX model as others do: with ONNX Runtime if it is installed, otherwise with onnx's own evaluator."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import external_data_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from .load import Loaded
from .sample import Array, Feeds


class BudgetExceeded(Exception):
    """The evaluator needs more time than there is."""


class Reference:
    """A model and what runs it. `deadline` is a time of time.monotonic()."""

    def __init__(self, source: Loaded, deadline: float) -> None:
        self._output_names = [info.name for info in source.proto.graph.output]
        self.name, self._run = _onnx_runtime(source) or _evaluator(source, deadline)

    def run(self, feeds: Feeds) -> dict[str, Array]:
        """All outputs by name."""
        return dict(zip(self._output_names, self._run(feeds), strict=True))


_Runner = Callable[[Feeds], list[Array]]


def _onnx_runtime(source: Loaded) -> tuple[str, _Runner] | None:
    try:
        import onnxruntime
    except ImportError:
        return None
    if onnxruntime.__name__ != "onnxruntime":  # jitney.ort in its place: the model would be compared with itself
        return None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # Its layout-changing optimisations are not what the model says.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    try:
        model = (
            os.fspath(source.path) if source.path is not None and not source.pictures else _with_data(source).SerializeToString()
        )
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception:
        return None
    return f"ONNX Runtime {onnxruntime.__version__}", lambda feeds: session.run(None, feeds)


def _evaluator(source: Loaded, deadline: float) -> tuple[str, _Runner]:
    evaluator = ReferenceEvaluator(_with_data(source), new_ops=[*CORRECTED])
    for node in evaluator.rt_nodes_:
        node.run = _within(deadline, node.run)

    def run(feeds: Feeds) -> list[Array]:
        # Overflow and division by zero give what IEEE arithmetic gives, here as there.
        with np.errstate(all="ignore"):
            return list(evaluator.run(None, feeds))

    return f"onnx {onnx.__version__}'s evaluator", run


def _within(deadline: float, run: Callable[..., Any]) -> Callable[..., Any]:
    def timed(*args: Any, **options: Any) -> Any:
        if time.monotonic() > deadline:
            raise BudgetExceeded
        return run(*args, **options)

    return timed


def _with_data(source: Loaded) -> onnx.ModelProto:
    """The model with its external data inside."""
    proto, folder = source.proto, source.folder
    if folder is None or not any(external_data_helper.uses_external_data(tensor) for tensor in proto.graph.initializer):
        return proto
    whole = onnx.ModelProto()
    whole.CopyFrom(proto)
    external_data_helper.load_external_data_for_model(whole, str(folder))
    return whole


class BatchNormalization(OpRun):
    """Inference form for all opsets: the evaluator's own mixes batch statistics in when an old model states a momentum."""

    def _run(self, x: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float = 1e-5, **_: Any) -> tuple[Any]:
        shape = (-1,) + (1,) * (x.ndim - 2)
        factor = scale / np.sqrt(variance + epsilon)
        return ((x * factor.reshape(shape) + (bias - mean * factor).reshape(shape)).astype(x.dtype),)


class LRN(OpRun):
    """The evaluator's own computes as many channels as the batch has rows."""

    def _run(self, x: Any, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0, size: int = 1) -> tuple[Any]:
        squares = x * x
        before, after = (size - 1) // 2, size // 2
        total = np.zeros_like(x)
        for channel in range(x.shape[1]):
            total[:, channel] = squares[:, max(0, channel - before) : channel + after + 1].sum(axis=1)
        return ((x / (bias + alpha / size * total) ** beta).astype(x.dtype),)


CORRECTED: tuple[type[OpRun], ...] = (BatchNormalization, LRN)
"""Ops that onnx's evaluator gets wrong."""
