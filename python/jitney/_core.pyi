"""Types of the compiled core (docs/binding.md)."""

from typing import Any, TypeAlias, TypedDict

import numpy.typing as npt

DimTuple: TypeAlias = int | tuple[int, list[tuple[str, int]]] | None
TensorTuple: TypeAlias = tuple[str, int, list[int | str] | None]

class OpSchema(TypedDict):
    inputs: tuple[int, int | None]
    outputs: tuple[int, int | None]
    attributes: dict[str, tuple[str, bool, list[str]]]
    value_inputs: int
    data_dependent: bool
    pure: bool

class Step(TypedDict):
    node: str
    op: str
    kernel: str
    backend: str
    why: str
    work: str
    way: str
    ways: list[str]
    outputs: list[tuple[int, ...]]
    flops: float
    bytes: int
    runs: int
    nanoseconds: int

class Buffer(TypedDict):
    written_by: str
    offset: int
    bytes: int
    first: int
    last: int

class Profile(TypedDict):
    steps: list[Step]
    events: list[tuple[int, int, int, int]]
    work: list[tuple[int, int, int, int, int, int]]
    dropped: int

class Plan(TypedDict):
    arena_bytes: int
    lower_bound_bytes: int
    weight_bytes: int
    packed_bytes: int
    strategy: str
    ends_at: str
    steps: list[Step]
    buffers: list[Buffer]

def version() -> str: ...
def isa() -> str: ...
def available_threads() -> int: ...
def machine_peak(threads: int) -> tuple[float, float]: ...
def tuning_target() -> str: ...
def read_tuning(path: bytes) -> dict[str, str]: ...
def dtype_name(number: int) -> str: ...
def ops() -> list[str]: ...
def op_schema(op: str) -> OpSchema: ...
def infer(model: bytes, may_never_run: bool = False) -> list[list[tuple[int, list[DimTuple] | None, list[DimTuple] | None]]]: ...

class Model:
    @staticmethod
    def open(path: str | bytes) -> Model: ...
    @staticmethod
    def from_bytes(data: bytes) -> Model: ...
    @property
    def inputs(self) -> list[TensorTuple]: ...
    @property
    def outputs(self) -> list[TensorTuple]: ...
    @property
    def states(self) -> list[tuple[str, str]]: ...
    @property
    def metadata(self) -> dict[str, str]: ...
    @property
    def ops(self) -> dict[str, int]: ...
    def check_weights(self) -> None: ...

class State:
    def reset(self) -> None: ...

class Session:
    def __init__(
        self,
        model: Model,
        *,
        backend: str = ...,
        threads: int = ...,
        check: bool = ...,
        profile: bool = ...,
        plan_cache_bytes: int = ...,
        max_contexts: int = ...,
        tuning: dict[str, str] = ...,
        prefer: str = ...,
    ) -> None: ...
    def run_plain(self, inputs: object, outputs: object) -> dict[str, npt.NDArray[Any]] | None: ...
    def run(
        self,
        inputs: dict[str, npt.NDArray[Any]],
        outputs: list[str] | None = None,
        out: dict[str, npt.NDArray[Any]] | None = None,
        state: State | None = None,
    ) -> dict[str, npt.NDArray[Any]]: ...
    def new_state(self) -> State: ...
    def reset_state(self) -> None: ...
    def prepare(self, shapes: dict[str, tuple[int, ...]]) -> None: ...
    def plan_report(self, shapes: dict[str, tuple[int, ...]] | None = None) -> Plan: ...
    def take_profile(self) -> Profile: ...
    def close(self) -> None: ...
    @property
    def backend(self) -> str: ...
    @property
    def threads(self) -> int: ...
