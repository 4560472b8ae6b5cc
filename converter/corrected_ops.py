"""Ops that onnx's evaluator gets wrong, done right."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx.reference.op_run import OpRun

from .corrected_loop import Loop
from .corrected_recurrence import GRU, LSTM, RNN


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


class GlobalMaxPool(OpRun):
    """The evaluator's own takes every input for a picture."""

    def _run(self, x: Any) -> tuple[Any]:
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


CORRECTED: tuple[type[OpRun], ...] = (BatchNormalization, GlobalMaxPool, GRU, Loop, LRN, LSTM, RNN)


def name_results(graph: onnx.GraphProto, prefix: str = "unread") -> None:
    """Names results that have no name: the evaluator would hand them to the next operand that was left out."""
    for number, node in enumerate(graph.node):
        for index, name in enumerate(node.output):
            if not name:
                node.output[index] = f"{prefix}/{number}/{index}"
        for attribute in node.attribute:
            for inner in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
                name_results(inner, f"{prefix}/{number}/{attribute.name}")
