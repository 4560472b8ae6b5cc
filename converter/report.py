"""What a conversion did, and what verification found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class OutputCheck:
    """One output compared with the reference's. The error is that of the worst place, relative to what was allowed there."""

    name: str
    error: float
    """Largest absolute difference."""
    tolerance: float
    """Largest absolute difference allowed where the error is worst."""
    magnitude: float
    """Largest absolute value of the reference, in the whole output."""
    place: str = ""
    """Where the error is worst, if the output was compared piece by piece, e.g. "axis 1 index 3"."""

    @property
    def ok(self) -> bool:
        """Whether the difference is allowed."""
        return self.error <= self.tolerance

    @property
    def verdict(self) -> str:
        """The error, what was allowed, and where."""
        where = f" at {self.place}" if self.place else ""
        sign = "≤" if self.ok else ">"
        return f"{self.error:.3g} {sign} {self.tolerance:.3g}{where}"

    def __str__(self) -> str:
        return f"{self.name}: error {self.verdict}, largest value {self.magnitude:.3g}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "error": self.error,
            "tolerance": self.tolerance,
            "magnitude": self.magnitude,
            "place": self.place,
            "ok": self.ok,
        }


@dataclass(frozen=True)
class Verification:
    """The outcome of running the ONNX model and the converted one on the same inputs."""

    outcome: Literal["verified", "mismatch", "not verifiable", "skipped"]
    reason: str = ""
    reference: str = ""
    """What ran the ONNX model."""
    outputs: tuple[OutputCheck, ...] = ()
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against the converted model."""
        return self.outcome != "mismatch"

    def __str__(self) -> str:
        first = (
            self.outcome + (f" against {self.reference}" if self.reference else "") + (f": {self.reason}" if self.reason else "")
        )
        return "\n".join([first, *(f"  {check}" for check in self.outputs)])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "outcome": self.outcome,
            "reason": self.reason,
            "reference": self.reference,
            "seconds": self.seconds,
            "outputs": [check.to_dict() for check in self.outputs],
        }


@dataclass
class Report:
    """What `convert` did. `print` it, or take its fields."""

    source: str
    output: str | None
    """Path of the file; None if none was written."""
    onnx_nodes: int = 0
    lowered_nodes: int = 0
    nodes: int = 0
    onnx_bytes: int = 0
    bytes: int = 0
    warnings: list[str] = field(default_factory=list)
    passes: list[Any] = field(default_factory=list)
    verification: Verification = field(default_factory=lambda: Verification("skipped"))
    seconds: dict[str, float] = field(default_factory=dict)
    """Time per stage."""

    def __str__(self) -> str:
        lines = [
            f"{self.source} → {self.output or '(no file)'}",
            f"  nodes: {self.onnx_nodes} in ONNX, {self.nodes} after simplification",
            f"  size: {_size(self.onnx_bytes)} → {_size(self.bytes)}",
            f"  time: {', '.join(f'{stage} {seconds:.2f} s' for stage, seconds in self.seconds.items())}",
        ]
        lines += [f"  warning: {warning}" for warning in self.warnings]
        lines += [f"  {line}" for line in str(self.verification).splitlines()]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "source": self.source,
            "output": self.output,
            "nodes": {"onnx": self.onnx_nodes, "lowered": self.lowered_nodes, "final": self.nodes},
            "bytes": {"onnx": self.onnx_bytes, "jny": self.bytes},
            "warnings": self.warnings,
            "verification": self.verification.to_dict(),
            "seconds": self.seconds,
        }


def _size(count: int) -> str:
    return f"{count / (1 << 20):.2f} MiB" if count >= 1 << 20 else f"{count / 1024:.1f} KiB"
