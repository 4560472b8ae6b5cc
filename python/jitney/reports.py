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
    tuning: str = ""
    """Which file of measured ways is followed, or why none is."""


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
    why: str = ""
    """Why this kernel, with the figures that decided. Empty if there was no choice."""
    flops: float = 0.0
    """Operations as the op is defined, a multiply-add counting two; a kernel may need fewer."""
    bytes: int = 0
    """Of the operands, each read or written once."""
    work: str = ""
    """If several ways fit: what it is, with its shape per item. `jitney tune` measures ways by it."""
    way: str = ""
    """The one taken."""
    ways: tuple[str, ...] = ()
    """All that fit."""

    @staticmethod
    def from_core(step: _core.Step) -> StepReport:
        """From the core's dictionary."""
        return StepReport(
            step["node"],
            step["op"],
            step["kernel"],
            step["backend"],
            tuple(step["outputs"]),
            step["runs"],
            step["nanoseconds"],
            step["why"],
            step["flops"],
            step["bytes"],
            step["work"],
            step["way"],
            tuple(step["ways"]),
        )


@dataclass(frozen=True)
class BufferReport:
    """A part of the arena that is taken from one step to another, both included.

    `last` is the number of steps if it is read after them, as a plan goes on elsewhere."""

    written_by: str
    """The nodes that write it, or "workspace of" a node."""
    offset: int
    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class PlanReport:
    """A plan for certain input shapes."""

    memory: MemoryReport
    steps: tuple[StepReport, ...]
    buffers: tuple[BufferReport, ...] = ()

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
        buffers = (BufferReport(**buffer) for buffer in plan["buffers"])
        return PlanReport(memory, tuple(map(StepReport.from_core, plan["steps"])), tuple(buffers))


@dataclass(frozen=True)
class ProfileEvent:
    """One execution of a step, or a whole run; nanoseconds since some point in the past."""

    step: int
    """Index into Profile.steps; -1: a whole run."""
    thread: int
    """Of the caller, counted from 0."""
    start: int
    end: int


@dataclass(frozen=True)
class WorkerEvent:
    """What one thread did in one execution of a step whose loops were spread over several."""

    step: int
    thread: int
    """The caller's."""
    worker: int
    """0: the caller itself."""
    start: int
    """Of its first piece of work."""
    end: int
    """Of its last one."""
    busy: int
    """Nanoseconds in all its pieces."""


@dataclass(frozen=True)
class Profile:
    """What a session with profile=True has seen. Steps of a loop's body lie within the loop's own event."""

    steps: tuple[StepReport, ...]
    """Of all plans that ran."""
    events: tuple[ProfileEvent, ...]
    dropped: int
    """Events beyond a million are counted only."""
    work: tuple[WorkerEvent, ...] = ()
    """With more than one thread: who worked when."""

    @staticmethod
    def from_core(profile: _core.Profile) -> Profile:
        """From the core's dictionaries."""
        events = tuple(ProfileEvent(*event) for event in profile["events"])
        work = tuple(WorkerEvent(*event) for event in profile["work"])
        return Profile(tuple(map(StepReport.from_core, profile["steps"])), events, profile["dropped"], work)
