"""Reads an ONNX model from a path, bytes or a ModelProto, and refuses what is no model with a message that helps."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import onnx
from google.protobuf.message import DecodeError, Message  # type: ignore[import-untyped, unused-ignore]
from onnx import checker, defs

from jitney.errors import InvalidInput, InvalidModel, IoError, Unsupported

from .file_kind import kind_of
from .images import take_pictures

OLDEST_OPSET: Final = 1
_FIRST_WITH_OPSETS: Final = 3
"""Files of earlier format versions name no opset: they mean the first."""
NEWEST_TRIED_OPSET: Final = 28
_CHECKER_LIMIT_BYTES: Final = 1 << 28
"""The checker holds several copies of what it reads."""

Source = str | os.PathLike[str] | bytes | bytearray | memoryview | onnx.ModelProto


@dataclass
class Loaded:
    """A parsed model and what is known about where it came from."""

    proto: onnx.ModelProto
    opsets: dict[str, int]
    """Version of each domain in use; ONNX's own domain is the empty text."""
    path: Path | None
    """The file, if the model came from one."""
    folder: Path | None
    """Where external data may lie."""
    sha256: str
    size: int
    warnings: list[str] = field(default_factory=list)
    pictures: dict[str, str] = field(default_factory=dict)
    """Inputs that take pixels where the model in the file decodes pictures, and their pixel formats."""


def load(source: Source) -> Loaded:
    """Reads and checks a model. Raises InvalidModel for what is none, Unsupported for opsets out of range."""
    try:
        return _load(source)
    except InvalidModel as error:
        error.hint = error.hint or "fetch the file again, or export the model again"
        raise


def _load(source: Source) -> Loaded:
    path: Path | None = None
    if isinstance(source, onnx.ModelProto):
        proto, label, size, sha256 = source, "the model", source.ByteSize(), ""
    else:
        data, label, path = _read(source)
        proto, size, sha256 = _parse(data, label), len(data), hashlib.sha256(data).hexdigest()
        del data  # as large as the model: not kept while the checker reads it again
    if not proto.HasField("graph"):
        raise InvalidModel(f"{label} is no ONNX model: it holds no graph")
    _check_text(proto, label)
    opsets = _opsets(proto, label)
    loaded = Loaded(proto, opsets, path, path.parent if path is not None else None, sha256, size)
    if opsets.get("", 0) > NEWEST_TRIED_OPSET:
        loaded.warnings.append(
            f"opset {opsets['']} is newer than {NEWEST_TRIED_OPSET}, the newest that this version was tested with"
        )
    loaded.warnings += _check(proto, path, size)
    loaded.proto, loaded.pictures = take_pictures(proto)
    return loaded


def canonical_domain(domain: str) -> str:
    """ONNX's own domain has two spellings."""
    return "" if domain == "ai.onnx" else domain


def _read(source: str | os.PathLike[str] | bytes | bytearray | memoryview) -> tuple[bytes, str, Path | None]:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), "the model given as bytes", None
    try:
        path = Path(source)
    except TypeError:
        raise InvalidInput(f"a path, bytes or a ModelProto is wanted, not {type(source).__name__}") from None
    try:
        return path.read_bytes(), f"'{path}'", path
    except FileNotFoundError:
        raise IoError(f"there is no file '{path}'", hint="check the spelling and the current folder") from None
    except (OSError, ValueError) as error:
        raise IoError(f"{os.fspath(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _parse(data: bytes, label: str) -> onnx.ModelProto:
    if not data:
        raise InvalidModel(f"{label} is empty", hint="was the download interrupted?")
    if data.startswith(b"\x89JNY"):
        raise InvalidModel(f"{label} is a Jitney model already", hint="run it as it is; only ONNX models are converted")
    if data.startswith(b"version https://git-lfs"):
        raise InvalidModel(f"{label} is a Git LFS pointer, not the model itself", hint="fetch the file with `git lfs pull`")
    try:
        proto = onnx.ModelProto()
        proto.ParseFromString(data)
    except DecodeError as error:
        _refuse_other_kinds(data, label)
        raise InvalidModel(
            f"{label} is no ONNX model, or only a part of one: {error}", hint="was the file cut off while it was copied?"
        ) from error
    if not proto.HasField("graph"):
        _refuse_other_kinds(data, label)
    return proto


def _refuse_other_kinds(data: bytes, label: str) -> None:
    kind = kind_of(data)
    if kind is not None:
        raise InvalidModel(f"{label} is no ONNX model but {kind[0]}", hint=kind[1])


def _check_text(message: Message, label: str) -> None:
    """Raises for names that are no UTF-8: protobuf hands them out as bytes."""
    for each in message.DESCRIPTOR.fields:  # not ListFields(), which copies the bytes of weights
        if each.type == each.TYPE_STRING:
            content = getattr(message, each.name)
            texts = [content] if isinstance(content, (str, bytes)) else content
            if any(isinstance(text, bytes) for text in texts):
                raise InvalidModel(f"{label} is damaged: its {each.full_name} holds text that is no UTF-8")
        elif each.type == each.TYPE_MESSAGE:
            content = getattr(message, each.name)
            if not isinstance(content, Message):
                for inner in content:
                    _check_text(inner, label)
            elif message.HasField(each.name):
                _check_text(content, label)


def _opsets(proto: onnx.ModelProto, label: str) -> dict[str, int]:
    """Versions by domain. Domains that no node uses are left out, whatever their version."""
    declared = {canonical_domain(entry.domain): entry.version for entry in proto.opset_import}
    if not declared and proto.ir_version < _FIRST_WITH_OPSETS:
        declared[""] = OLDEST_OPSET
    used = _used_domains(proto.graph)
    opsets = {domain: version for domain, version in declared.items() if domain in used}
    if "" in used and "" not in declared:
        raise InvalidModel(f"{label} does not say which opset it uses")
    version = opsets.get("", OLDEST_OPSET)
    if version < OLDEST_OPSET:
        raise Unsupported(
            f"{label} uses opset {version}; the first that ONNX published is {OLDEST_OPSET}",
            hint="export the model again",
        )
    newest = defs.onnx_opset_version()
    if version > newest:
        raise Unsupported(
            f"{label} uses opset {version}; the installed onnx package ({onnx.__version__}) knows them up to {newest}",
            hint="upgrade the package: pip install --upgrade onnx",
        )
    return opsets


def _used_domains(graph: onnx.GraphProto) -> set[str]:
    used: set[str] = set()
    for node in graph.node:
        used.add(canonical_domain(node.domain))
        for attribute in node.attribute:
            for subgraph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                used |= _used_domains(subgraph)
    return used


def _is_unicode(path: Path) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in os.fspath(path))


def _check(proto: onnx.ModelProto, path: Path | None, size: int) -> list[str]:
    """The checker's findings: worth knowing, but models that work elsewhere often have some."""
    if size > _CHECKER_LIMIT_BYTES:
        return []
    try:
        # From the path where there is one, so that external data is found. The checker takes Unicode only.
        checker.check_model(os.fspath(path) if path is not None and _is_unicode(path) else proto)
    except (checker.ValidationError, ValueError, RuntimeError) as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        return [f"the ONNX checker objects: {lines[0].strip() if lines else type(error).__name__}"]
    return []
