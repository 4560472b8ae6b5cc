"""What a model tells about itself in ONNX's words: inputs, outputs, metadata. Stored with the converted model as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final, TypeAlias

from jitney.model import Model, TensorInfo

from .spelling import spelled_name

KEY: Final = "ort.interface"
"""The converted model's metadata entry that holds the JSON."""

UNSET_VERSION: Final = 2**63 - 1
"""ONNX Runtime's number for models that state no version."""

Dim: TypeAlias = int | str | None
"""A size, a symbol as the author spelled it, or None where nothing is known."""


class NodeArg:
    """An input or output: name, type, shape."""

    __slots__ = ("_name", "_shape", "_type")

    def __init__(self, name: str, type: str, shape: Sequence[Dim] | None) -> None:
        self._name, self._type, self._shape = name, type, None if shape is None else tuple(shape)

    @property
    def name(self) -> str:
        """The name to feed or ask for."""
        return self._name

    @property
    def type(self) -> str:
        """E.g. "tensor(float)"."""
        return self._type

    @property
    def shape(self) -> list[Dim]:
        """An int for a fixed size, a str for a symbol, None where nothing is known; empty also if any rank will do."""
        return list(self._shape or ())

    @property
    def _dims(self) -> tuple[Dim, ...] | None:
        return self._shape

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape!r})"


@dataclass(frozen=True)
class ModelMetadata:
    """What the author wrote about the model."""

    producer_name: str = ""
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    graph_description: str = ""
    version: int = UNSET_VERSION
    _custom: tuple[tuple[str, str], ...] = ()

    @property
    def custom_metadata_map(self) -> dict[str, str]:
        """The author's own entries."""
        return dict(self._custom)


@dataclass(frozen=True)
class Interface:
    """Inputs, outputs and metadata of a model."""

    inputs: list[NodeArg]
    outputs: list[NodeArg]
    overridable: list[NodeArg]
    """Initializers that are inputs as well."""
    unused: frozenset[str]
    """Inputs that nothing in the graph reads; the converted model lacks them."""
    metadata: ModelMetadata
    sequences: dict[str, list[str]] = field(default_factory=dict)
    """For outputs that are sequences: the converted model's outputs that are the elements."""

    def to_json(self) -> str:
        """For the converted model."""
        lists = {name: [(arg.name, arg.type, arg._dims) for arg in getattr(self, name)] for name in _LISTS}
        others = {"unused": sorted(self.unused), "metadata": asdict(self.metadata), "sequences": self.sequences}
        return json.dumps(lists | others)

    @staticmethod
    def from_json(text: str) -> Interface:
        """Reads what `to_json` wrote."""
        content = json.loads(text)
        inputs, outputs, overridable = ([NodeArg(*entry) for entry in content[name]] for name in _LISTS)
        metadata = content["metadata"]
        metadata["_custom"] = tuple((key, value) for key, value in metadata["_custom"])
        described = ModelMetadata(**metadata)
        return Interface(inputs, outputs, overridable, frozenset(content["unused"]), described, content["sequences"])

    @staticmethod
    def of_model(model: Model) -> Interface:
        """That of a converted model: as it was stored, or as far as a file that `jitney.convert` made tells."""
        entries = model.metadata
        if KEY in entries:
            return Interface.from_json(entries[KEY])
        return Interface(_args(model.inputs), _args(model.outputs), [], frozenset(), _metadata(entries))


_LISTS: Final = ("inputs", "outputs", "overridable")


def _args(tensors: Iterable[TensorInfo]) -> list[NodeArg]:
    return [NodeArg(info.name, spelled_name(info.dtype), info.shape) for info in tensors]


def _metadata(entries: dict[str, str]) -> ModelMetadata:
    prefix = "onnx.meta."
    version = entries.get("onnx.model_version", "0")
    return ModelMetadata(
        producer_name=entries.get("onnx.producer_name", ""),
        graph_name=entries.get("onnx.graph_name", ""),
        domain=entries.get("onnx.domain", ""),
        description=entries.get("onnx.description", ""),
        version=int(version) if version.lstrip("-").isdigit() and int(version) else UNSET_VERSION,
        _custom=tuple((key.removeprefix(prefix), value) for key, value in entries.items() if key.startswith(prefix)),
    )
