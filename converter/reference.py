"""Runs the ONNX model as others do, in a process of its own: with ONNX Runtime if it is installed, or onnx's evaluator."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from types import TracebackType
from typing import Final

import numpy as np
import onnx
from onnx import external_data_helper

from .load import Loaded
from .reference_process import BudgetExceeded, Crashed, ReferenceProcess, Refused, borrow, give_back
from .sample import Array, Feeds

__all__ = ["BudgetExceeded", "Crashed", "Reference", "Refused"]

RUNNERS: tuple[str, ...] = ("onnxruntime", "evaluator")
"""In order of preference: the second runs what the first does not know, crashes at, or cannot because it is not installed."""


_MOST_BYTES: Final = 3 << 28
"""What the process may allocate, besides 16 times the model's size."""

_MOST_THREADS: Final = 8


class Reference:
    """A model and what runs it. `deadline` is a time of time.monotonic()."""

    def __init__(self, source: Loaded, deadline: float) -> None:
        """Raises Refused or Crashed if nothing can load the model, BudgetExceeded if that takes too long."""
        self.name = ""
        self._output_names = [info.name for info in source.proto.graph.output]
        self._deadline = deadline
        self._most_bytes = _MOST_BYTES + 16 * _size(source)
        as_it_is = source.path is not None and not source.pictures
        self._model = os.fspath(source.path) if as_it_is else _with_data(source).SerializeToString()  # type: ignore[arg-type]
        self._threads = 1 if _rounds_by_thread(source.proto) else _MOST_THREADS
        self._runners = [*RUNNERS]
        self._crash = ""
        self._process: ReferenceProcess | None = None
        self._load()

    def run(self, feeds: Feeds) -> dict[str, Array]:
        """All outputs by name. If what runs the model crashes, the next in order takes over."""
        while True:
            assert self._process is not None, "the reference is closed"
            try:
                outputs = self._process.call(self._deadline, "run", {name: np.asarray(array) for name, array in feeds.items()})
            except Crashed as error:
                self._note_crash(error)
                self._load()
            else:
                return dict(zip(self._output_names, outputs, strict=True))

    def close(self) -> None:
        """Lets others use the process."""
        process, self._process = self._process, None
        if process is not None:
            give_back(process)

    def __enter__(self) -> Reference:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def _load(self) -> None:
        """Loads the model with the first runner that can."""
        while True:
            self._process = self._process if self._process is not None and self._process.alive else borrow()
            try:
                request = ("load", self._runners[0], self._model, self._most_bytes, self._threads)
                self.name = self._process.call(self._deadline, *request) + self._crash
                return
            except Crashed as error:
                self._note_crash(error)
            except Refused:
                if len(self._runners) == 1:
                    raise
                del self._runners[0]
            except BudgetExceeded:
                self._process = None
                raise

    def _note_crash(self, error: Crashed) -> None:
        """Raises if there is no other runner."""
        self._process = None
        crashed = self.name or {"onnxruntime": "ONNX Runtime", "evaluator": "onnx's evaluator"}[self._runners[0]]
        del self._runners[0]
        self._crash = f" ({crashed} crashed: {error})"
        if not self._runners:
            raise Crashed(f"the reference crashed: {crashed} was {error}") from error


def _rounds_by_thread(proto: onnx.ModelProto) -> bool:
    """Whether ONNX Runtime's result depends on its threads: each rounds the states of its own part of the batch."""

    def found(nodes: Iterable[onnx.NodeProto]) -> bool:
        return any(
            node.op_type == "DynamicQuantizeLSTM"
            or any(found(graph.node) for attribute in node.attribute for graph in (attribute.g, *attribute.graphs))
            for node in nodes
        )

    return found(proto.graph.node) or any(found(function.node) for function in proto.functions)


def _size(source: Loaded) -> int:
    """Bytes of the model and of the files beside it that hold its weights."""
    size = source.size
    if source.folder is not None:
        tensors = [tensor for tensor in source.proto.graph.initializer if external_data_helper.uses_external_data(tensor)]
        for location in {entry.value for tensor in tensors for entry in tensor.external_data if entry.key == "location"}:
            with contextlib.suppress(OSError, ValueError):
                size += (source.folder / location).stat().st_size
    return size


def _with_data(source: Loaded) -> onnx.ModelProto:
    """The model with its external data inside."""
    proto, folder = source.proto, source.folder
    if folder is None or not any(external_data_helper.uses_external_data(tensor) for tensor in proto.graph.initializer):
        return proto
    whole = onnx.ModelProto()
    whole.CopyFrom(proto)
    external_data_helper.load_external_data_for_model(whole, str(folder))
    return whole
