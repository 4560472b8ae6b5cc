"""Runs a case with Jitney and with the references, and says whether Jitney is right."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

import ml_dtypes
import numpy as np

from jitney import Session
from jitney.converter.infer import infer_shapes
from jitney.converter.load import load
from jitney.converter.lower import lower
from jitney.converter.passes import run_passes
from jitney.converter.write import serialise
from jitney.errors import Error, Unsupported

from .case import Array, Case
from .references import REFERENCES, Results, in_float64, known_fault

WAYS: Final = ((True, "cpu"), (False, "reference"))
"""With all passes on the CPU's kernels, and without on the plain ones."""
Enter = Callable[[str], None]


@dataclass
class Verdict:
    """agree | unsupported | wrong | disputed (the references differ, and Jitney from both) | no reference."""

    outcome: str
    reason: str = ""


def judge(case: Case, *, enter: Enter = lambda stage: None, skip: Collection[str] = ()) -> Verdict:
    """`enter` is told what is about to run, so that a crash can be laid at the right door; `skip` names references that crash."""
    answers: list[Results] = []
    for name, run in REFERENCES.items():
        if name in skip or known_fault(name, case):
            continue
        enter(name)
        try:
            answers.append(run(case, 0))
        except Exception:
            continue
    for simplify, backend in WAYS:
        enter(f"jitney on {backend}")
        try:
            results = run_jitney(case, simplify, backend)
        except Unsupported as error:
            return Verdict("unsupported", str(error))
        except Error as error:
            if not answers:
                return Verdict("no reference", f"{type(error).__name__}: {error}")
            return Verdict("wrong", f"{backend}: {len(answers)} references run it, but {type(error).__name__}: {error}")
        except Exception as error:
            return Verdict("wrong", f"{backend}: untyped error {type(error).__name__}: {error}")
        if not answers:
            continue
        differences = [difference(case, results, answer) for answer in answers]
        # The references may themselves be a tolerance apart, on either side of Jitney: one of them is enough.
        if not all(differences) or _is_exact(case, results, enter):
            continue
        they_agree = len(answers) > 1 and not difference(case, answers[0], answers[1])
        if they_agree or not _unstable(case, results, answers, enter, skip):
            disputed = len(answers) > 1 and not they_agree
            return Verdict("disputed" if disputed else "wrong", f"{backend}: {' | '.join(differences)}")
    return Verdict("agree" if answers else "no reference")


def run_jitney(case: Case, simplify: bool, backend: str) -> Results:
    model = lower(load(case.model().SerializeToString()))
    infer_shapes(model)
    if simplify:
        run_passes(model)
        infer_shapes(model)
    with Session(serialise(model), backend=backend, threads=1) as session:
        return session.run(case.feeds())


def difference(case: Case, actual: Results, expected: Results, slack: Results | None = None) -> str:
    """What differs, or nothing."""
    if list(actual) != list(expected):
        return f"outputs {list(actual)}, not {list(expected)}"
    for name, wanted in expected.items():
        got = actual[name]
        if got.dtype != wanted.dtype:
            return f"{name}: dtype {got.dtype}, not {wanted.dtype}"
        if got.shape != wanted.shape:
            return f"{name}: shape {got.shape}, not {wanted.shape}"
        error = _distance(got, wanted)
        wrong = error > _tolerance(case, wanted) + (0 if slack is None else slack[name])
        if wrong.any():
            place = tuple(int(index) for index in np.argwhere(np.atleast_1d(wrong))[0])
            first = np.atleast_1d(got)[place], np.atleast_1d(wanted)[place]
            return f"{name}{list(place)}: {first[0]!s}, not {first[1]!s} ({int(wrong.sum())} of {wrong.size} differ)"
    return ""


def _is_float(array: Array) -> bool:
    return array.dtype.kind == "f" or "float" in array.dtype.name


def _distance(a: Array, b: Array) -> Array:
    """|a - b|; 0 where both are NaN or equal, infinity where one alone is not finite."""
    if not _is_float(a):
        return np.where(a == b, 0.0, np.inf)
    x, y = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        apart = np.abs(x - y)
    alike = (x == y) | (np.isnan(x) & np.isnan(y))
    return np.where(alike, 0.0, np.where(np.isnan(apart), np.inf, apart))


def _tolerance(case: Case, wanted: Array) -> Array:
    """A few units in the last place: of each element, or, where products are summed, of the largest."""
    if not _is_float(wanted):
        return np.zeros(wanted.shape)
    epsilon = max(float(ml_dtypes.finfo(wanted.dtype).eps), 2e-6)
    wide = wanted.astype(np.float64)
    sizes = np.where(np.isfinite(wide), np.abs(wide), 0.0)
    if case.loose or len(case.steps) > 1:
        return np.full(wanted.shape, 16 * epsilon * max(float(sizes.max(initial=0.0)), 0.1))
    tiny = float(ml_dtypes.finfo(wanted.dtype).smallest_normal)
    return np.asarray(8 * epsilon * sizes + max(8 * epsilon * 1e-2 if not case.has_edges else 0.0, 4 * tiny))


def _is_exact(case: Case, results: Results, enter: Enter) -> bool:
    """Whether Jitney has what comes out in float64, from which references in float32 may be far where digits cancel out."""
    if known_fault("evaluator", case):
        return False
    enter("evaluator in float64")
    try:
        exact = in_float64(case)
    except Exception:
        return False
    with np.errstate(all="ignore"):
        rounded = {name: array.astype(results[name].dtype) for name, array in exact.items()}
    return not difference(case, results, rounded)


def _unstable(case: Case, results: Results, answers: list[Results], enter: Enter, skip: Collection[str]) -> bool:
    """Whether the references themselves change as much when the inputs change by a rounding error."""
    if not case.loose and len(case.steps) == 1:
        return False
    asked = [(name, run) for name, run in REFERENCES.items() if name not in skip and not known_fault(name, case)]
    for (name, run), answer in zip(asked, answers):
        slack = {key: np.zeros(array.shape) for key, array in answer.items()}
        for noise in range(1, 6):
            enter(name)
            try:
                noisy = run(case, noise)
            except Exception:
                return False
            for key, array in answer.items():
                if noisy[key].shape != array.shape:
                    return True
                slack[key] = np.maximum(slack[key], 30 * _distance(noisy[key], array))
        if not difference(case, results, answer, slack):
            return True
    return False
