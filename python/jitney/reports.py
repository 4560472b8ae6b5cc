"""What a session tells about itself: backend, memory, and the steps of a plan."""

from __future__ import annotations

from dataclasses import dataclass

from jitney import _core


@dataclass(frozen=True)
class BackendReport:
    """Which backend runs the model, and why."""

    requested: str
    backend: str
    isa: str
    threads: int
    reason: str


@dataclass(frozen=True)
class MemoryReport:
    """Memory of one plan, in bytes."""

    arena_bytes: int
    """One execution context's arena, kernel workspace included."""
    lower_bound_bytes: int
    """No plan for the same steps can be smaller."""
    weight_bytes: int
    packed_bytes: int
    """Copies of weights made for the kernels, shared by all sessions of the model."""
    strategy: str
    ends_at: str = ""
    """The node before which the plan ends, as values that are known only in a run decide what follows: memory from there on is
    not counted. Empty if the plan is whole."""


@dataclass(frozen=True)
class StepReport:
    """One step of a plan; `runs` and `nanoseconds` are counted in sessions made with profile=True."""

    node: str
    op: str
    kernel: str
    backend: str
    outputs: tuple[tuple[int, ...], ...]
    runs: int
    nanoseconds: int


@dataclass(frozen=True)
class PlanReport:
    """A plan for certain input shapes."""

    memory: MemoryReport
    steps: tuple[StepReport, ...]

    @staticmethod
    def from_core(plan: _core.Plan) -> PlanReport:
        """From the core's dictionaries."""
        memory = MemoryReport(
            plan["arena_bytes"],
            plan["lower_bound_bytes"],
            plan["weight_bytes"],
            plan["packed_bytes"],
            plan["strategy"],
            plan["ends_at"],
        )
        steps = tuple(
            StepReport(
                step["node"],
                step["op"],
                step["kernel"],
                step["backend"],
                tuple(step["outputs"]),
                step["runs"],
                step["nanoseconds"],
            )
            for step in plan["steps"]
        )
        return PlanReport(memory, steps)
