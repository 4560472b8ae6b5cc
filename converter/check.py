"""Lists all that stands in the way of a conversion, without stopping at the first, and without writing anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from jitney.errors import Error, InvalidInput, InvalidModel, Unsupported

from .convert import compile_model
from .dims import Shapes
from .load import Source, load
from .lower import find_problems
from .write import lay_out


@dataclass(frozen=True)
class CheckReport:
    """What was found. `print` it, or take its fields."""

    problems: tuple[Error, ...] = ()
    """One for each node (or input) that cannot be converted; what follows from it is not listed."""
    warnings: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """Whether nothing stands in the way."""
        return not self.problems

    def __str__(self) -> str:
        lines = [f"warning: {warning}" for warning in self.warnings]
        if self.ok:
            return "\n".join(["the model can be converted", *lines])
        count = len(self.problems)
        lines.insert(0, f"the model cannot be converted: {count} problem{'s' if count > 1 else ''}")
        groups: dict[tuple[str, str, str, str], list[Error]] = {}
        for error in self.problems:
            groups.setdefault((error.op, error.opset, error.message, error.hint), []).append(error)
        for (op, opset, message, hint), group in groups.items():
            kind = f"{op} (opset {opset}): " if op and opset else f"{op}: " if op else ""
            lines.append(f"  {len(group)} × {kind}{message}" if len(group) > 1 else f"  {kind}{message}")
            lines += [f"      node '{error.node}' of {', '.join(error.inputs) or 'nothing'}" for error in group if error.node]
            lines += [f"      hint: {hint}"] if hint else []
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        problems: list[Mapping[str, Any]] = [
            {
                "code": error.code,
                "message": error.message,
                "node": error.node,
                "op": error.op,
                "opset": error.opset,
                "inputs": list(error.inputs),
                "hint": error.hint,
            }
            for error in self.problems
        ]
        return {"convertible": self.ok, "problems": problems, "warnings": list(self.warnings)}


def check(source: Source, *, shapes: Shapes | None = None, dynamic_batch: bool = False) -> CheckReport:
    """Looks through the whole model, nested graphs and functions included. Raises only if there is no model to look at."""
    try:
        loaded = load(source)
    except Unsupported as error:
        return CheckReport((error,))
    try:
        lay_out(compile_model(replace(loaded, warnings=[]), shapes, dynamic_batch))
    except InvalidInput as error:
        if not error.op:  # the shapes themselves are no shapes of the model's inputs
            raise
        return CheckReport((error,), tuple(loaded.warnings))
    except (InvalidModel, Unsupported) as error:
        # What shows only when the model is whole is not found by looking at its nodes.
        problems = find_problems(loaded, shapes, sizes_are_final=not dynamic_batch) or [error]
        return CheckReport(tuple(problems), tuple(loaded.warnings))
    return CheckReport(warnings=tuple(loaded.warnings))
