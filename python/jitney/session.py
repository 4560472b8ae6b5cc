"""Runs a converted model on NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from jitney import _core
from jitney.calls import advised
from jitney.errors import InvalidInput
from jitney.inputs import Array, check_dtype, check_names, check_shape, collect
from jitney.model import Model, ModelSource, TensorInfo
from jitney.pictures import picture_formats, with_pixels
from jitney.reports import BackendReport, MemoryReport, PlanReport, Profile
from jitney.state import State
from jitney.tuning import Tuning, measured_ways

Shapes = Mapping[str, Sequence[int]]


class Session:
    """A model, ready to run. May be used from many threads at once; runs do not hold Python's lock."""

    @advised()
    def __init__(
        self,
        model: ModelSource | Model,
        *,
        backend: str = "auto",
        threads: int = 0,
        check: bool = False,
        profile: bool = False,
        plan_cache_bytes: int = 64 << 20,
        tuning: Tuning = "auto",
        prefer: str = "memory",
    ) -> None:
        """`model` is a path, the bytes of a .jny file, or a Model whose weights are to be shared.

        `backend` is "auto", "cpu" or "reference"; `threads` per run, 0 for one per available core (little ones beside big ones
        do not count); `check` reads all weights against their checksums now; `profile` records the time of each step (see
        take_profile); plans beyond `plan_cache_bytes` are forgotten, least recently used first. `tuning` is a file that `jitney
        tune` wrote, or None; "auto" takes the one beside the model, if there is one that suits this processor. `prefer` is
        "memory", which keeps memory beside the arena within 1.2 times the weights, or "speed", which keeps what each run would
        compute anew from the weights wherever that is expected to be faster, several times their bytes if need be.
        """
        for name, value, most in (("threads", threads, 1024), ("plan_cache_bytes", plan_cache_bytes, 2**63 - 1)):
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
                raise InvalidInput(f"{name}={value!r} was given; an integer from 0 to {most} is wanted")
        for name, flag in (("check", check), ("profile", profile)):
            if not isinstance(flag, bool):
                raise InvalidInput(f"{name}={flag!r} was given; True or False is wanted")
        for name, text in (("backend", backend), ("prefer", prefer)):
            if not isinstance(text, str) or not text.isascii():
                raise InvalidInput(f"{name}={text!r} was given; a name is wanted")
        self._model = model if isinstance(model, Model) else Model(model)
        self._requested = backend
        ways, self._tuning = measured_ways(model, tuning)
        self._core = _core.Session(
            self._model._core,
            backend=backend,
            threads=threads,
            check=check,
            profile=profile,
            plan_cache_bytes=plan_cache_bytes,
            tuning=ways,
            prefer=prefer,
        )
        self._pictures = picture_formats(self._model.metadata)

    @property
    def model(self) -> Model:
        """The model; give it to another Session to share its weights."""
        return self._model

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """What the model wants, in the model's order."""
        return self._model.inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """What the model gives, in the model's order."""
        return self._model.outputs

    @property
    def metadata(self) -> dict[str, str]:
        """What travels with the model."""
        return self._model.metadata

    @advised("run({name: array}, outputs=[…]); for ONNX Runtime's run(None, {…}) use jitney.ort.InferenceSession")
    def run(
        self,
        inputs: Mapping[str, Array] | Array,
        *,
        outputs: Sequence[str] | None = None,
        out: Mapping[str, Array] | None = None,
        state: State | None = None,
    ) -> dict[str, Array]:
        """{output name: array}. `inputs` is {name: array}, or one array if the model has one input.

        `outputs` picks some of the outputs; `out` gives arrays that results are written to (and which are returned).
        Raises InvalidInput for a wrong name, dtype, rank or size. The arrays returned own their memory. Where the ONNX model
        decodes pictures, an encoded one (a 1-D array of uint8) may be given instead of its pixels.

        Inputs that are states of the model may be left out: the last run's are used, those of `state` (see new_state), or the
        session's own. A state that is given all the same is used instead. Outputs that are states are returned if `outputs` or
        `out` names them.
        """
        if out is None and state is None and not self._pictures:
            # What is just as wanted needs no look from here, which beside a small network would cost percents of its time.
            plain = self._core.run_plain(inputs, outputs)
            if plain is not None:
                return plain
        if state is not None and not isinstance(state, State):
            raise InvalidInput(f"state is of type {type(state).__name__}; what new_state() returns is wanted")
        kept = {before for before, _ in self._model.states}
        given = with_pixels(inputs, self._pictures, self.inputs) if self._pictures else inputs
        fed = collect(given, self.inputs, kept)
        names = self._output_names(outputs, out)
        core = None if state is None else state._core
        if out is None:
            return self._core.run(fed, names, state=core)
        self._check_targets(out, names)
        shared = _sharing_memory(out, fed)
        results = self._core.run(fed, names, {name: array for name, array in out.items() if name not in shared}, core)
        for name in shared:
            if results[name].shape != out[name].shape:
                raise InvalidInput(
                    f"the array given for output '{name}' has shape {out[name].shape}; the result has {results[name].shape}"
                )
            np.copyto(out[name], results[name])
            results[name] = out[name]
        return results

    def new_state(self) -> State:
        """The state of one more stream of runs: zeros. Streams with a state each may run at the same time."""
        return State(self._core.new_state())

    def reset_state(self) -> None:
        """Lets the session's own state, which runs without `state` use, start from zeros again."""
        self._core.reset_state()

    @advised()
    def prepare(self, shapes: Shapes) -> None:
        """Makes the plan for these input shapes now, so that the first run need not."""
        self._core.prepare(self._checked_shapes(shapes))

    @advised()
    def plan_report(self, shapes: Shapes | None = None) -> PlanReport:
        """The plan for these input shapes: memory, and each step with its kernel. Symbols that no shape fixes count as 1.

        Without `shapes`: those of the last run or prepare."""
        known = None if shapes is None else self._checked_shapes(shapes)
        return PlanReport.from_core(self._core.plan_report(known))

    def take_profile(self) -> Profile:
        """When each step of the runs since the last call began and ended; empty unless the session has profile=True."""
        return Profile.from_core(self._core.take_profile())

    @property
    def memory_report(self) -> MemoryReport:
        """Memory of the plan for the last run's or prepare's shapes."""
        return self.plan_report().memory

    @property
    def backend_report(self) -> BackendReport:
        """Which backend runs the model, and why."""
        chosen = self._core.backend
        reason = "asked for" if self._requested == chosen else f"'{self._requested}' chose the fastest backend of this build"
        return BackendReport(self._requested, chosen, _core.isa(), self._core.threads, reason, self._tuning)

    def close(self) -> None:
        """Waits for runs in progress and frees all memory. Later calls raise SessionClosed; closing twice does no harm."""
        self._core.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<jitney.Session on {self._requested}: {self._model!r}>"

    def _output_names(self, outputs: Sequence[str] | None, out: Mapping[str, Array] | None) -> list[str]:
        if outputs is None:
            kept = {after for _, after in self._model.states} - set(out if isinstance(out, Mapping) else ())
            return [info.name for info in self.outputs if info.name not in kept]
        if isinstance(outputs, str):
            raise InvalidInput(f"outputs={outputs!r} is a str; a list of names is wanted", hint=f"outputs=[{outputs!r}]")
        try:
            names = list(outputs)
        except TypeError:
            raise InvalidInput(f"outputs={outputs!r} was given; a list of names is wanted") from None
        check_names(names, self.outputs, "output")
        if len(set(names)) != len(names):
            raise InvalidInput(f"outputs={names!r} names an output twice")
        return names

    def _check_targets(self, out: Mapping[str, Array], names: Sequence[str]) -> None:
        if not isinstance(out, Mapping):
            raise InvalidInput(f"out is of type {type(out).__name__}; a dict {{output name: array}} is wanted")
        check_names(out, self.outputs, "output")
        by_name = {info.name: info for info in self.outputs}
        for name, array in out.items():
            if name not in names:
                raise InvalidInput(f"an array was given for output '{name}', which outputs={list(names)!r} leaves out")
            if not isinstance(array, np.ndarray):
                raise InvalidInput(f"out['{name}'] is of type {type(array).__name__}; a NumPy array is wanted")
            check_dtype(array, by_name[name], "output")
            check_shape(array.shape, by_name[name], "output")
            if not array.flags.writeable:
                raise InvalidInput(f"out['{name}'] is read-only")
        _check_apart(out)

    def _checked_shapes(self, shapes: Shapes) -> dict[str, tuple[int, ...]]:
        if not isinstance(shapes, Mapping):
            raise InvalidInput(f"shapes={shapes!r} was given; a dict {{input name: shape}} is wanted")
        check_names(shapes, self.inputs, "input")
        checked: dict[str, tuple[int, ...]] = {}
        for info in self.inputs:
            if info.name not in shapes:
                continue
            given: Any = shapes[info.name]
            dims = tuple(given) if isinstance(given, Iterable) else (given,)
            countable = isinstance(given, Iterable) and not isinstance(given, (str, bytes))
            if not countable or not all(isinstance(dim, (int, np.integer)) and 0 <= dim < 2**63 for dim in dims):
                raise InvalidInput(f"the shape given for input '{info.name}' is {given!r}; integers from 0 to 2⁶³−1 are wanted")
            checked[info.name] = tuple(int(dim) for dim in dims)
            check_shape(checked[info.name], info, "the shape given for input")
        return checked


def _check_apart(out: Mapping[str, Array]) -> None:
    """Raises if two elements that are written lie in one place: the later would win, without a word."""
    for name, array in out.items():
        if not _elements_lie_apart(array):
            raise InvalidInput(f"out['{name}'] has elements that share memory", hint="give an array of its own: array.copy()")
    names = list(out)
    for position, name in enumerate(names):
        for other in names[:position]:
            if _overlap(out[name], out[other]):
                raise InvalidInput(f"out['{other}'] and out['{name}'] share memory", hint="give each output an array of its own")


def _elements_lie_apart(array: Array) -> bool:
    """Whether each axis steps over all that the finer ones span, as it does in views of ordinary arrays."""
    if array.size == 0:
        return True
    span = array.itemsize
    for stride, size in sorted((abs(stride), size) for stride, size in zip(array.strides, array.shape) if size > 1):
        if stride < span:
            return False
        span += stride * (size - 1)
    return True


def _overlap(a: Array, b: Array) -> bool:
    budget: Any = 10_000  # candidates to try; NumPy's stubs know the two special values only
    try:
        return np.shares_memory(a, b, max_work=budget)
    except RuntimeError:  # NumPy's TooHardError, whose home differs between versions
        return False


def _sharing_memory(out: Mapping[str, Array], fed: Mapping[str, Array]) -> list[str]:
    """Targets that may overlap an input or another target: to write them during a run could change what it has yet to read."""
    return [
        name
        for name, array in out.items()
        if any(np.may_share_memory(array, other) for other in fed.values())
        or any(other is not array and np.may_share_memory(array, other) for other in out.values())
    ]
