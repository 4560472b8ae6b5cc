"""Arguments that are just as a model wants them take a short way; all others are looked at, with the same results."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitney


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(2).standard_normal((6, 4), np.float32)


class Rows(np.ndarray[Any, Any]):
    """An array of another class."""


def test_plain_arguments_take_the_short_way(linear: Path, x: np.ndarray) -> None:
    with jitney.Session(linear) as session:
        wanted = session._core.run({"x": x})
        for inputs in ({"x": x}, x):
            results = session._core.run_plain(inputs, None)
            assert results is not None
            assert list(results) == ["y", "r"]
            assert all(np.array_equal(results[name], wanted[name]) for name in wanted)
        assert list(session._core.run_plain(x, ["r"]) or {}) == ["r"]
        assert session._core.run_plain(x, []) == {}


@pytest.mark.parametrize(
    "inputs",
    [
        lambda x: OrderedDict(x=x),
        lambda x: {"x": x.view(Rows)},
        lambda x: {"x": np.ma.array(x)},
        lambda x: {"x": x.astype(np.float64)},
        lambda x: {"x": x.astype(">f4")},
        lambda x: {"x": x[0]},
        lambda x: {"x": x[:, :3]},
        lambda x: {"x": x.tolist()},
        lambda x: {"x": np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape)},
        lambda x: {"x": None},
        lambda x: {"x": x, "z": x},
        lambda x: {"z": x},
        lambda x: {1: x},
        lambda x: {},
        lambda x: None,
        lambda x: [x],
    ],
)
def test_what_is_not_plain_is_looked_at(linear: Path, x: np.ndarray, inputs: Any) -> None:
    with jitney.Session(linear) as session:
        given = inputs(x)
        assert session._core.run_plain(given, None) is None
        try:
            results = session.run(given)
        except jitney.InvalidInput as error:
            assert str(error)
        else:
            assert np.array_equal(results["y"], session.run({"x": x})["y"])


@pytest.mark.parametrize("outputs", [("y",), ["y", "y"], ["no"], [1], "y", 3])
def test_odd_lists_of_outputs_are_looked_at(linear: Path, x: np.ndarray, outputs: Any) -> None:
    with jitney.Session(linear) as session:
        assert session._core.run_plain({"x": x}, outputs) is None


def test_strided_and_transposed_arrays_are_plain(linear: Path, x: np.ndarray) -> None:
    with jitney.Session(linear) as session:
        wanted = session.run(x)["y"]
        for same in (np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1].copy()[::-1]):
            results = session._core.run_plain({"x": same}, None)
            assert results is not None
            assert np.array_equal(results["y"], wanted)


def test_reports_follow_the_last_run(linear: Path, x: np.ndarray) -> None:
    with jitney.Session(linear) as session:
        for rows in (2, 5):
            session.run(x[:rows])
            assert session.plan_report().steps[0].outputs[0][0] == rows
        session.prepare({"x": (3, 4)})
        assert session.plan_report().steps[0].outputs[0][0] == 3


def test_errors_name_what_is_wrong(linear: Path) -> None:
    with jitney.Session(linear) as session, pytest.raises(jitney.InvalidInput, match="axis 1"):
        session.run({"x": np.zeros((2, 5), np.float32)})


def test_a_closed_session_says_so(linear: Path, x: np.ndarray) -> None:
    session = jitney.Session(linear)
    session.close()
    with pytest.raises(jitney.Error, match="closed"):
        session.run(x)
