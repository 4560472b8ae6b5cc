"""What Jitney raises: one class per kind of failure, each saying where it arose and what to do. Needs no compiled code."""

from __future__ import annotations

from collections.abc import Sequence


class Error(Exception):
    """Base of all errors that Jitney raises on purpose.

    `message` says what was given and what was wanted; `hint`, if any, what to do; `node` and `op` name the place in the
    model, where there is one, `opset` the version of the op, and `inputs` what the node was given, e.g. "x: float32[1, 3]";
    `code` is a short stable word for programs.
    """

    code = "error"

    def __init__(
        self, message: str, *, node: str = "", op: str = "", hint: str = "", opset: str = "", inputs: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.node = node
        self.op = op
        self.hint = hint
        self.opset = opset
        self.inputs = tuple(inputs)

    @property
    def where(self) -> str:
        """The node, its op and what it was given, in words, or an empty string."""
        if not self.node and not self.op:
            return ""
        kind = f"{self.op} node" if self.op else "node"
        place = f"in {kind} '{self.node}'" if self.node else f"in a {kind}"
        return place + (f", opset {self.opset}" if self.opset else "") + (f", of {', '.join(self.inputs)}" if self.inputs else "")

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        advice = f"\nHint: {self.hint}" if self.hint else ""
        return f"{self.message}{place}{advice}"


class InvalidModel(Error):
    """The file is damaged, hostile, too new, or no model at all."""

    code = "invalid_model"


class InvalidInput(Error, ValueError):
    """A wrong name, dtype, rank, size or option was given."""

    code = "invalid_input"


class Unsupported(Error):
    """The request is correct, but this build, backend or converter cannot carry it out."""

    code = "unsupported"


class OutOfMemory(Error, MemoryError):
    """An allocation failed, or would exceed what the address space allows."""

    code = "out_of_memory"


class IoError(Error, OSError):
    """The operating system refused to open, read or write a file."""

    code = "io"


class SessionClosed(Error):
    """A session was used after close()."""

    code = "closed"


class InternalError(Error):
    """A fault in Jitney itself; please report it."""

    code = "internal"


class Mismatch(Error):
    """Verification found outputs that differ from the reference's by more than the tolerance."""

    code = "mismatch"
