"""Which function lowers which ONNX op, by domain, name and the version in which its meaning last changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ..ir import Value

if TYPE_CHECKING:
    from .node import OnnxNode

Result: TypeAlias = "Value | Sequence[Value | None]"
Lowering: TypeAlias = "Callable[[OnnxNode], Result]"

_lowerings: dict[tuple[str, str], list[tuple[int, Lowering]]] = {}


def lowers(*ops: str, since: int = 1, domain: str = "") -> Callable[[Lowering], Lowering]:
    """Registers a function for these ops from version `since` on, until a later registration takes over."""

    def register(function: Lowering) -> Lowering:
        for op in ops:
            versions = _lowerings.setdefault((domain, op), [])
            assert since not in [version for version, _ in versions], f"{op} since {since} is registered twice"
            versions.append((since, function))
            versions.sort(key=lambda entry: entry[0])
        return function

    return register


def find_lowering(domain: str, op: str, since: int) -> Lowering | None:
    """The function for the op as of its schema's version `since`, or None."""
    found = None
    for version, function in _lowerings.get((domain, op), []):
        if version <= since:
            found = function
    return found


def lowered_ops() -> list[tuple[str, str, int]]:
    """(domain, op, since) of all registrations, sorted."""
    return sorted((domain, op, since) for (domain, op), versions in _lowerings.items() for since, _ in versions)
