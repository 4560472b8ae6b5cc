"""Runs one test of the suite on Jitney and says how it went: all outputs right in value, shape and dtype, or why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from suite import Case

from jitney import Error, onnx_backend

PASS = "pass"
BFLOAT16_RTOL = 2.0**-6
"""Two units in the last place, as onnx's own runner allows."""


@dataclass(frozen=True)
class Outcome:
    """`kind` is "pass", the code of a Jitney error, "value", "shape", "dtype", "count", "exception", "crash" or "hang"."""

    kind: str
    reason: str = ""


def judge(case: Case) -> Outcome:
    try:
        with np.errstate(all="ignore"):
            model = onnx_backend.prepare(case.model, threads=1)
            for fed, wanted in case.data_sets:
                outcome = compare(model.run(fed), wanted, case.rtol, case.atol)
                if outcome.kind != PASS:
                    return outcome
    except Error as error:
        return Outcome(error.code, _line(str(error).partition("\nHint:")[0]))
    except Exception as error:
        return Outcome("exception", _line(f"{type(error).__name__}: {error}"))
    return Outcome(PASS)


def compare(actual: Sequence[Any], wanted: Sequence[Any], rtol: float, atol: float) -> Outcome:
    if len(actual) != len(wanted):
        return Outcome("count", f"{len(actual)} outputs instead of {len(wanted)}")
    for index, (got, expected) in enumerate(zip(actual, wanted)):
        if isinstance(expected, list):
            if not isinstance(got, list):
                return Outcome("dtype", f"output {index} is no list")
            outcome = compare(got, expected, rtol, atol)
        else:
            outcome = _compare_tensor(got, np.asarray(expected), rtol, atol)
        if outcome.kind != PASS:
            return Outcome(outcome.kind, f"output {index}: {outcome.reason}")
    return Outcome(PASS)


def _compare_tensor(got: Any, wanted: np.ndarray[Any, Any], rtol: float, atol: float) -> Outcome:
    if not isinstance(got, np.ndarray):
        return Outcome("dtype", f"{type(got).__name__} instead of an array of {wanted.dtype}")
    if got.dtype != wanted.dtype:
        return Outcome("dtype", f"{got.dtype} instead of {wanted.dtype}")
    if got.shape != wanted.shape:
        return Outcome("shape", f"{list(got.shape)} instead of {list(wanted.shape)}")
    if wanted.dtype.kind in "biuOSU":
        wrong = got != wanted
    else:
        wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
        own = max(rtol, BFLOAT16_RTOL) if wanted.dtype.name == "bfloat16" else rtol
        wrong = ~np.isclose(got.astype(wide), wanted.astype(wide), rtol=own, atol=atol, equal_nan=True)
    if not wrong.any():
        return Outcome(PASS)
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    return Outcome(
        "value", f"{int(wrong.sum())} of {wrong.size} elements, e.g. {got[where]} instead of {wanted[where]} at {list(where)}"
    )


def _line(text: str) -> str:
    return " ".join(text.split())[:300]
