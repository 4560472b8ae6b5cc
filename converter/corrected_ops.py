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


class LpNormalization(OpRun):
    """The evaluator's own takes sums of odd powers without their sizes."""

    def _run(self, x: Any, axis: int = -1, p: int = 2, **_: Any) -> tuple[Any]:
        norm = (np.abs(x) ** p).sum(axis=axis, keepdims=True) ** (1 / p)
        return (np.divide(x, norm, out=np.zeros_like(x), where=norm != 0).astype(x.dtype),)


class _AlongAxis(OpRun):
    """Before opset 13 the axis is 1 unless given, and all behind it count as one; the evaluator knows the later rule alone."""

    def _along_last(self, x: Any) -> Any:
        raise NotImplementedError

    def _run(self, x: Any, **_: Any) -> tuple[Any]:
        given = next((each.i for each in self.onnx_node.attribute if each.name == "axis"), None)
        if self.run_params["opsets"].get("", 13) >= 13:
            axis = -1 if given is None else given
            return (np.moveaxis(self._along_last(np.moveaxis(x, axis, -1)), -1, axis).astype(x.dtype),)
        axis = 1 if given is None else given + x.ndim if given < 0 else given
        flat = x.reshape(int(np.prod(x.shape[:axis])), int(np.prod(x.shape[axis:])))
        return (self._along_last(flat).reshape(x.shape).astype(x.dtype),)


class Softmax(_AlongAxis):
    """exp(x) as a part of its sum."""

    def _along_last(self, x: Any) -> Any:
        powers = np.exp(x - x.max(axis=-1, keepdims=True, initial=-np.inf))
        return powers / powers.sum(axis=-1, keepdims=True)


class LogSoftmax(_AlongAxis):
    """The logarithm of Softmax."""

    def _along_last(self, x: Any) -> Any:
        below = x - x.max(axis=-1, keepdims=True, initial=-np.inf)
        return below - np.log(np.exp(below).sum(axis=-1, keepdims=True))


class Hardmax(_AlongAxis):
    """1 for the first of the largest elements, 0 for the others."""

    def _along_last(self, x: Any) -> Any:
        result = np.zeros_like(x)
        if x.size:
            np.put_along_axis(result, x.argmax(axis=-1, keepdims=True), 1, axis=-1)
        return result


CORRECTED: tuple[type[OpRun], ...] = (
    *(BatchNormalization, GlobalMaxPool, GRU, Hardmax, LogSoftmax, Loop),
    *(LpNormalization, LRN, LSTM, RNN, Softmax),
)


def name_results(graph: onnx.GraphProto, prefix: str = "unread") -> None:
    """Names results that have no name: the evaluator would hand them to the next operand that was left out."""
    for number, node in enumerate(graph.node):
        for index, name in enumerate(node.output):
            if not name:
                node.output[index] = f"{prefix}/{number}/{index}"
        for attribute in node.attribute:
            for inner in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
                name_results(inner, f"{prefix}/{number}/{attribute.name}")
