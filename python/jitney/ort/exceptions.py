"""ONNX Runtime's exceptions, which are Jitney's as well, and the way from Jitney's errors to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from jitney import errors


class OrtError(errors.Error):
    """Base of the exceptions with ONNX Runtime's names; `number` and `label` are how their texts begin."""

    number = 1
    label = "FAIL"

    @classmethod
    def of(cls, message: str, cause: errors.Error | None = None) -> OrtError:
        """The exception with ONNX Runtime's form of text, and what is known of the place from the cause."""
        error = cls(f"[ONNXRuntimeError] : {cls.number} : {cls.label} : {message}")
        if cause is not None:
            error.node, error.op, error.hint = cause.node, cause.op, cause.hint
            error.opset, error.inputs = cause.opset, cause.inputs
        return error


class Fail(OrtError):
    """What has no class of its own."""

    number, label = 1, "FAIL"


class InvalidArgument(OrtError):
    """A wrong name, dtype, rank or size."""

    number, label = 2, "INVALID_ARGUMENT"


class NoSuchFile(OrtError):
    """The model's file is missing."""

    number, label = 3, "NO_SUCHFILE"


class NoModel(OrtError):
    """No model was loaded."""

    number, label = 4, "NO_MODEL"


class EngineError(OrtError):
    """An execution provider failed."""

    number, label = 5, "ENGINE_ERROR"


class RuntimeException(OrtError):
    """A node failed."""

    number, label = 6, "RUNTIME_EXCEPTION"


class InvalidProtobuf(OrtError):
    """The file is no ONNX model."""

    number, label = 7, "INVALID_PROTOBUF"


class ModelLoaded(OrtError):
    """A model was loaded already."""

    number, label = 8, "MODEL_LOADED"


class NotImplemented(OrtError):
    """No implementation of a node."""

    number, label = 9, "NOT_IMPLEMENTED"


class InvalidGraph(OrtError):
    """The graph breaks ONNX's rules."""

    number, label = 10, "INVALID_GRAPH"


class EPFail(OrtError):
    """An execution provider failed."""

    number, label = 11, "EP_FAIL"


class ModelLoadCanceled(OrtError):
    """Loading was given up."""

    number, label = 12, "MODEL_LOAD_CANCELED"


class ModelRequiresCompilation(OrtError):
    """The model wants to be compiled first."""

    number, label = 13, "MODEL_REQUIRES_COMPILATION"


class NotFound(OrtError):
    """Something asked for by name is not there."""

    number, label = 14, "NOT_FOUND"


# ONNX Runtime's releases give one failure to different classes: programs that catch either of them must see it.


class UnreadableModel(InvalidProtobuf, InvalidArgument):
    """A file or bytes that hold no ONNX model, or only a part of one."""


class BrokenModel(Fail, InvalidGraph, InvalidArgument):
    """A model that breaks ONNX's rules."""


class UnsupportedModel(NotImplemented, InvalidGraph):
    """A model with something that the converter or the runtime does not know."""


class NodeFailure(Fail, RuntimeException):
    """A node cannot compute its result from what it was given."""


class IndexFailure(InvalidArgument, NodeFailure):
    """A node was given indices that lie outside."""


class OutOfMemory(NodeFailure):
    """An allocation failed."""


def on_loading(error: errors.Error, source: str) -> OrtError:
    """The exception for what went wrong while a model was loaded. `source` is its path, or empty for bytes."""
    prefix = f"Load model from {source} failed:" if source else ""
    if isinstance(error, errors.OutOfMemory):
        return OutOfMemory.of(f"{prefix}Failed to allocate memory: {error.message}", error)
    if isinstance(error, errors.Unsupported):
        return UnsupportedModel.of(prefix + error.message, error)
    if isinstance(error, errors.InvalidModel):
        return BrokenModel.of(f"{prefix}This is an invalid model. Error: {error.message}", error)
    return Fail.of(prefix + error.message, error)


def on_running(error: errors.Error) -> OrtError:
    """The exception for what went wrong during a run."""
    text = f"Non-zero status code returned while running {error.op or 'a'} node. Name:'{error.node}' Status Message: "
    if isinstance(error, errors.OutOfMemory):
        return OutOfMemory.of(f"{text}Failed to allocate memory for requested buffer: {error.message}", error)
    if error.node or error.op:
        kind = IndexFailure if error.op.lower().startswith(("gather", "scatter")) else NodeFailure
        return kind.of(text + error.message, error)
    if isinstance(error, errors.InvalidInput):
        return InvalidArgument.of(error.message, error)
    return NodeFailure.of(error.message, error)


@contextmanager
def translated_loading(source: str) -> Iterator[None]:
    """Turns Jitney's errors into ONNX Runtime's."""
    try:
        yield
    except OrtError:
        raise
    except errors.Error as error:
        raise on_loading(error, source) from error


@contextmanager
def translated_running() -> Iterator[None]:
    """Turns Jitney's errors into ONNX Runtime's."""
    try:
        yield
    except OrtError:
        raise
    except errors.Error as error:
        raise on_running(error) from error
