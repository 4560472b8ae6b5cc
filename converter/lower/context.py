"""What a conversion's graphs share, the names of one graph, and the stand-in for what cannot be lowered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import onnx

from jitney.errors import Error, InvalidModel, Unsupported

from ..ir import Value
from .problems import Origin, explain


@dataclass
class Context:
    """What all graphs of one conversion share."""

    folder: Path | None
    functions: Mapping[tuple[str, str, str], onnx.FunctionProto]
    """The model's own, by domain, name and overload."""
    sizes_are_final: bool = True
    """False if a size that the model fixes will be opened later, so that nothing may be decided by it."""
    names: set[str] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)
    unsupported: list[Error] = field(default_factory=list)
    collecting: bool = False
    """Whether to go on after a node that is wrong, too, and to note it among those that are not supported."""
    origins: dict[str, Origin] = field(default_factory=dict)
    """Where IR nodes come from, by the names of ONNX nodes."""
    warnings: list[str] = field(default_factory=list)
    spread_sequences: bool = False
    """Whether a sequence among the model's outputs becomes as many outputs as it has elements."""
    repeated: int = 0
    """Nodes of loops' bodies that were lowered again so far."""
    unrolled: int = 0
    """Nodes that loops were unrolled to so far."""
    size: int = 0
    """The number of values that the model names."""
    expanded: int = 0
    """Nodes that stand in function bodies, counted each time that a body is written out."""
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    """The functions whose bodies are being lowered, from the outermost in."""
    _counters: dict[str, int] = field(default_factory=dict)

    def fresh(self, stem: str) -> str:
        """A value name that nothing else has."""
        return self._unique(stem, self.names)

    def label(self, node: onnx.NodeProto) -> str:
        """A unique name for the node, from its own, or from its first result's if it has none."""
        results = [name for name in node.output if name]
        return self._unique(node.name or (results[0] if results else node.op_type), self.labels)

    def state(self) -> tuple[set[str], set[str], int, int, dict[str, int]]:
        """What reset() needs to forget what is lowered from now on."""
        return {*self.names}, {*self.labels}, len(self.unsupported), len(self.warnings), {**self._counters}

    def reset(self, state: tuple[set[str], set[str], int, int, dict[str, int]]) -> None:
        """Forgets what was lowered since, so that it can be lowered again under the same names."""
        names, labels, unsupported, warnings, counters = state
        self.names, self.labels, self._counters = {*names}, {*labels}, {**counters}
        del self.unsupported[unsupported:], self.warnings[warnings:]

    def note(self, error: InvalidModel | Unsupported) -> None:
        """Raises the error, or goes on if problems are being collected."""
        if not self.collecting:
            raise error
        explain(error, None)
        self.unsupported.append(error)

    def origin(self, name: str) -> Origin | None:
        """Where the IR node of that name comes from: names are those of ONNX nodes, with the IR's op behind some of them."""
        while name not in self.origins and "/" in name:
            name = name.rpartition("/")[0]
        return self.origins.get(name)

    def _unique(self, stem: str, taken: set[str]) -> str:
        name = stem
        while name in taken:
            self._counters[stem] = self._counters.get(stem, 0) + 1
            name = f"{stem}.{self._counters[stem]}"
        taken.add(name)
        return name


class Poison(Value):
    """Stands for the result of a node that cannot be lowered, so that the rest of the model is still looked through."""


@dataclass
class Scope:
    """Names of one ONNX graph or function body; what is not found is looked for outside."""

    opsets: Mapping[str, int]
    values: dict[str, Value] = field(default_factory=dict)
    attributes: Mapping[str, onnx.AttributeProto] = field(default_factory=dict)
    function: bool = False
    """A function body's names mean nothing outside, so its values do not take them."""
    outer: Scope | None = None
    """Where names are looked for next, for a subgraph that is lowered into the graph around it."""
