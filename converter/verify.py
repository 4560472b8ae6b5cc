"""Runs the ONNX model and the converted one on the same inputs and compares what they say."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from jitney.errors import Error, InvalidInput, OutOfMemory
from jitney.model import TensorInfo

from .compare import check_output, with_noise
from .evaluator_faults import evaluator_fault
from .load import Loaded
from .preparation import Preparations, prepare_feeds
from .reference import BudgetExceeded, Crashed, Reference
from .reference_reason import reason_of
from .report import OutputCheck, Verification
from .sample import Array, Feeds, InputSpec, Sample, draw, load_sample, random_feeds
from .selection import chosen_by, with_outputs

BUDGET_SECONDS: Final = 60.0
_STACKED_RUNS: Final = 3
_RANDOM_OPS: Final = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"}

Rebuild = Callable[[Loaded], bytes]


class NotVerifiable(Exception):
    """Nothing can be said; the text is the reason."""


class _Failed(Exception):
    """The converted model fails where the reference runs."""


@dataclass(frozen=True)
class Subject:
    """What is compared: a .jny file, the ONNX model that it came from, and how to convert variants of that."""

    converted: str | os.PathLike[str] | bytes
    source: Loaded
    specs: Sequence[InputSpec]
    rebuild: Rebuild
    preparations: Preparations = field(default_factory=dict)
    """Of the inputs that the file takes in another format than the ONNX model."""

    def prepared(self, feeds: Feeds) -> Feeds:
        """What the ONNX model is fed where the file is fed this."""
        return prepare_feeds(self.preparations, feeds)

    def run(self, reference: Reference, feeds: Feeds, noise: int | None = None) -> dict[str, Array]:
        """The ONNX model's results for what the file is fed; `noise` is the seed of that on its inputs."""
        prepared = self.prepared(feeds)
        return reference.run(prepared if noise is None else with_noise(prepared, noise))


def verify_model(
    subject: Subject, *, sample: Sample | None = None, seed: int = 0, budget: float = BUDGET_SECONDS
) -> Verification:
    """The outcome for random inputs, or for those of the sample."""
    start = time.monotonic()
    feeds = [load_sample(sample, subject.specs)] if sample is not None else random_feeds(subject.specs, seed)
    name = ""

    def outcome(word: str, reason: str = "", checks: Sequence[OutputCheck] = ()) -> Verification:
        return Verification(word, reason, name, tuple(checks), round(time.monotonic() - start, 3))  # type: ignore[arg-type]

    try:
        _refuse_chance(subject)
        with open_reference(subject.source, start + budget) as reference:
            fed, expected = first_that_runs(reference, feeds, is_sample=sample is not None, prepare=subject.prepared)
            name = reference.name
            checks = _compare(subject, reference, fed, expected, seed)
            name = reference.name
        if any(not check.ok for check in checks):
            checks = _look_behind_choices(subject, checks, fed, start + budget, seed)
        if any(not check.ok for check in checks):
            refuse_faulty_evaluator(subject.source, name)
    except (NotVerifiable, Crashed, OutOfMemory) as error:
        return outcome("not verifiable", str(error))
    except BudgetExceeded:
        return outcome(
            "not verifiable",
            f"the reference needs more than the {budget:.0f} s that it is given; ONNX Runtime, if installed, is faster",
        )
    except _Failed as error:
        return outcome("mismatch", str(error))
    return outcome("verified" if all(check.ok for check in checks) else "mismatch", "", checks)


def _refuse_chance(subject: Subject) -> None:
    """Raises NotVerifiable if the converted model draws random numbers, in whatever op they were hidden."""
    from jitney import Model

    if "random" in Model(subject.converted).ops:
        raise NotVerifiable("the model draws random numbers")


def refuse_faulty_evaluator(source: Loaded, reference: str) -> None:
    """Raises NotVerifiable if onnx's evaluator ran the model and is known to be wrong about a part of it."""
    fault = evaluator_fault(source) if _is_evaluator(reference) else ""
    if fault:
        raise NotVerifiable(f"the results differ, but onnx's evaluator does not compute {fault} rightly{_advice()}")


def _is_evaluator(reference: str) -> bool:
    """Whether that is the name of onnx's evaluator; behind it may stand why it is not ONNX Runtime."""
    return "evaluator" in reference.partition(" (")[0]


def open_reference(source: Loaded, deadline: float) -> Reference:
    """What runs the ONNX model. Raises NotVerifiable if nothing can."""
    random = next((node.op_type for node in source.proto.graph.node if node.op_type in _RANDOM_OPS), None)
    if random is not None:
        raise NotVerifiable(f"the model draws random numbers ({random})")
    try:
        return Reference(source, deadline)
    except (BudgetExceeded, Crashed):
        raise
    except Exception as error:
        raise NotVerifiable(f"no reference can load the model: {reason_of(error).rstrip('.')}{_advice()}") from error


def _advice() -> str:
    """What would let more models be verified on this computer."""
    return "" if importlib.util.find_spec("onnxruntime") else "; ONNX Runtime knows more models: pip install onnxruntime"


def first_that_runs(
    reference: Reference,
    candidates: Iterable[Feeds],
    *,
    is_sample: bool = False,
    prepare: Callable[[Feeds], Feeds] = lambda feeds: feeds,
) -> tuple[Feeds, dict[str, Array]]:
    """The first inputs that the reference accepts, and for which it says anything: which sizes suit a model is not written in it.

    Raises InvalidInput if inputs of the user's own are refused."""
    failure = ""
    empty = ""
    try:
        for feeds in candidates:
            result = _attempt(reference, prepare(feeds))
            if isinstance(result, str):
                failure = failure or result
            elif not all(isinstance(array, np.ndarray) and array.size == 0 for array in result.values()):
                return feeds, result
            else:
                empty = empty or f"all outputs are empty (with {_shapes(feeds)})"
    except BudgetExceeded:
        if not empty:
            raise
    if empty:
        raise NotVerifiable(f"{empty}; give other sizes with --shape, or inputs with --sample")
    if is_sample:
        raise InvalidInput(
            f"{reference.name} cannot run the model on the sample: {failure}",
            hint=f"give arrays that suit the model; --no-verify needs none{_advice()}",
        )
    failure = failure or "there are no inputs to try"
    raise NotVerifiable(f"{reference.name} cannot run the model: {failure}; --shape or --sample give what suits it{_advice()}")


def _attempt(reference: Reference, feeds: Feeds) -> dict[str, Array] | str:
    """The reference's results, or why there are none."""
    try:
        return reference.run(feeds)
    except (BudgetExceeded, Crashed):
        raise
    except Exception as error:
        return f"{reason_of(error)} (with {_shapes(feeds)})"


def _shapes(feeds: Feeds) -> str:
    return ", ".join(f"{name} {list(array.shape)}" for name, array in feeds.items())


def _compare(subject: Subject, reference: Reference, feeds: Feeds, expected: dict[str, Array], seed: int) -> list[OutputCheck]:
    from jitney import Session

    try:
        with Session(subject.converted) as session:
            opened = _opened_inputs(session, subject.specs)
            noisy = subject.run(reference, feeds, seed + 1)
            if opened:
                # Rows that the reference computes one by one must come out of one run.
                others = [_redrawn(feeds, subject.specs, opened, seed + number) for number in range(1, _STACKED_RUNS)]
                expected = _stacked([expected, *(subject.run(reference, other) for other in others)], expected)
                noisy = _stacked([noisy, *(subject.run(reference, other, seed + 1) for other in others)], expected)
                feeds = _stacked([feeds, *others], opened)
            actual = session.run(feeds, outputs=list(expected))
    except Error as error:
        if isinstance(error, InvalidInput) and error.op and _is_evaluator(reference.name):
            raise NotVerifiable(
                f"the converted model refuses inputs that onnx's evaluator does not check: {error.message}; give a --sample"
            ) from error
        raise _Failed(f"the converted model fails where the reference runs: {error}") from error
    return [check_output(name, np.asarray(expected[name]), actual[name], np.asarray(noisy[name])) for name in expected]


def _opened_inputs(session: object, specs: Sequence[InputSpec]) -> set[str]:
    """Inputs whose leading size the ONNX model fixes and the file leaves open."""
    infos = {info.name: info for info in session.inputs}  # type: ignore[attr-defined]
    return {spec.name for spec in specs if spec.shape and isinstance(spec.shape[0], int) and _is_open(infos.get(spec.name))}


def _is_open(info: TensorInfo | None) -> bool:
    return info is not None and bool(info.shape) and isinstance((info.shape or (0,))[0], str)


def _redrawn(feeds: Feeds, specs: Sequence[InputSpec], names: set[str], seed: int) -> Feeds:
    random = np.random.default_rng(seed)
    return {spec.name: draw(spec, feeds[spec.name].shape, random) if spec.name in names else feeds[spec.name] for spec in specs}


def _stacked(parts: Sequence[dict[str, Array]], names: Iterable[str]) -> dict[str, Array]:
    return {key: np.concatenate([part[key] for part in parts]) if key in names else array for key, array in parts[0].items()}


def _look_behind_choices(
    subject: Subject, checks: list[OutputCheck], feeds: Feeds, deadline: float, seed: int
) -> list[OutputCheck]:
    """Integer outputs that differ may do so for ties alone: then the values that they were chosen by agree."""
    result: list[OutputCheck] = []
    for check in checks:
        behind = (
            chosen_by(subject.source.proto.graph, check.name)
            if not check.ok and check.tolerance == 0 and np.isfinite(check.error)
            else []
        )
        if behind:
            variant = replace(subject.source, proto=with_outputs(subject.source.proto, behind), path=None)
            changed = replace(subject, converted=subject.rebuild(variant), source=variant)
            with open_reference(variant, deadline) as reference:
                inner = _compare(changed, reference, feeds, subject.run(reference, feeds), seed)
            if all(item.ok for item in inner):
                check = replace(check, error=0.0, place=f"compared at {', '.join(behind)}, which it is chosen by")
        result.append(check)
    return result
