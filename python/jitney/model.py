"""A converted model: the mapped file, its inputs, outputs and metadata."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from jitney import _core
from jitney.errors import InvalidInput, InvalidModel
from jitney.paths import path_bytes

ModelSource: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview"


@dataclass(frozen=True)
class TensorInfo:
    """An input or output. `dtype` is NumPy's name of the type (ml_dtypes' where NumPy lacks it), so that
    `np.zeros(shape, info.dtype)` works; a dim that the author left open is a str; `shape` is None if any rank will do."""

    name: str
    dtype: str
    shape: tuple[int | str, ...] | None

    def __str__(self) -> str:
        dims = "any shape" if self.shape is None else "[" + ", ".join(map(str, self.shape)) + "]"
        return f"{self.name}: {self.dtype} {dims}"


def _describe(tensors: Iterable[_core.TensorTuple]) -> tuple[TensorInfo, ...]:
    return tuple(
        TensorInfo(name, _core.dtype_name(dtype), None if shape is None else tuple(shape)) for name, dtype, shape in tensors
    )


class Model:
    """A .jny file, opened and checked. Sessions made from one Model share its weights."""

    def __init__(self, source: ModelSource) -> None:
        """`source` is a path, or the bytes of a file."""
        if isinstance(source, (bytes, bytearray, memoryview)):
            self._core = _core.Model.from_bytes(bytes(source))
        elif isinstance(source, (str, os.PathLike)):
            self._core = _open(source)
        else:
            raise InvalidInput(f"a model was given as {type(source).__name__}", hint="give a path, or the bytes of a .jny file")
        self.inputs = _describe(self._core.inputs)
        self.outputs = _describe(self._core.outputs)
        self.states = tuple(self._core.states)
        """(input, output) pairs: what an output is in one run, the input is in the next."""

    @property
    def metadata(self) -> dict[str, str]:
        """What travels with the model: the ONNX model's own entries are under `onnx.meta.…`."""
        return self._core.metadata

    @property
    def ops(self) -> dict[str, int]:
        """How often each op occurs, subgraphs included."""
        return self._core.ops

    def check_weights(self) -> None:
        """Reads every weight against its checksum; raises InvalidModel if one differs."""
        self._core.check_weights()

    def __repr__(self) -> str:
        names = ", ".join(map(str, self.inputs))
        return f"<jitney.Model ({names}) -> ({', '.join(map(str, self.outputs))})>"


def _open(path: str | os.PathLike[str]) -> _core.Model:
    encoded = path_bytes(path)
    try:
        return _core.Model.open(encoded)
    except InvalidModel as error:
        if encoded.endswith(b".onnx"):
            error.hint = f"this is an ONNX model; first run: jitney convert {os.fsdecode(path)}"
        raise
