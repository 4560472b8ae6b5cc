"""State: an output of one run that is an input of the next, in one stream and in several."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from forking import holds_in_child, needs_fork
from onnx import TensorProto, helper
from onnx_models import make_onnx

import jitney
from jitney.errors import InvalidInput, Unsupported

Array = npt.NDArray[Any]
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def gru(batch: int | str = 2) -> onnx.ModelProto:
    """A gated unit spelled out: h' = (1 − z)·n + z·h, y = h'·v; and a counter of runs."""
    rng = np.random.default_rng(0)
    shapes = {"wz": (3, 4), "uz": (4, 4), "wn": (3, 4), "un": (4, 4), "v": (4, 2)}
    weights = {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    nodes = [
        helper.make_node("MatMul", ["x", "wz"], ["xz"]),
        helper.make_node("MatMul", ["h", "uz"], ["hz"]),
        helper.make_node("Add", ["xz", "hz"], ["z0"]),
        helper.make_node("Sigmoid", ["z0"], ["z"]),
        helper.make_node("MatMul", ["x", "wn"], ["xn"]),
        helper.make_node("MatMul", ["h", "un"], ["hn"]),
        helper.make_node("Add", ["xn", "hn"], ["n0"]),
        helper.make_node("Tanh", ["n0"], ["n"]),
        helper.make_node("Sub", ["h", "n"], ["d"]),
        helper.make_node("Mul", ["z", "d"], ["zd"]),
        helper.make_node("Add", ["n", "zd"], ["h_out"]),
        helper.make_node("MatMul", ["h_out", "v"], ["y"]),
        helper.make_node("Add", ["count", "one"], ["count_out"]),
    ]
    return make_onnx(
        nodes,
        [("x", FLOAT, [batch, 3]), ("h", FLOAT, [batch, 4]), ("count", INT64, [1])],
        [("y", FLOAT, [batch, 2]), ("h_out", FLOAT, [batch, 4]), ("count_out", INT64, [1])],
        weights | {"one": np.array([1], np.int64)},
    )


STATES = {"h": "h_out", "count": "count_out"}


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stream") / "gru.jny"
    report = jitney.convert(gru(), path, states=STATES)
    assert report.verification.outcome == "verified"
    return path


def xs(count: int, seed: int = 0) -> list[Array]:
    return list(np.random.default_rng(seed).standard_normal((count, 2, 3)).astype(np.float32))


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory: pytest.TempPathFactory) -> jitney.Session:
    """The same network without state."""
    path = tmp_path_factory.mktemp("plain") / "gru.jny"
    jitney.convert(gru(), path, verify=False)
    return jitney.Session(path)


def expected(by_hand: jitney.Session, inputs: list[Array], h: Array | None = None) -> list[Array]:
    state = {"h": np.zeros((2, 4), np.float32) if h is None else h, "count": np.zeros(1, np.int64)}
    results = []
    for x in inputs:
        got = by_hand.run({"x": x} | state)
        state = {"h": got["h_out"], "count": got["count_out"]}
        results.append(got["y"])
    return results


def test_a_session_remembers(stream: Path, by_hand: jitney.Session) -> None:
    with jitney.Session(stream) as session:
        assert session.model.states == (("h", "h_out"), ("count", "count_out"))
        for _ in range(2):
            for x, wanted in zip(xs(5), expected(by_hand, xs(5)), strict=True):
                results = session.run(x)  # the only input that must be given
                assert list(results) == ["y"]
                np.testing.assert_array_equal(results["y"], wanted)
            session.reset_state()


def test_streams_do_not_disturb_each_other(stream: Path, by_hand: jitney.Session) -> None:
    with jitney.Session(stream) as session:
        states = [session.new_state() for _ in range(3)]
        wanted = [expected(by_hand, xs(6, seed)) for seed in range(3)]
        for step in range(6):
            for seed, state in enumerate(states):
                np.testing.assert_array_equal(session.run(xs(6, seed)[step], state=state)["y"], wanted[seed][step])
        states[0].reset()
        np.testing.assert_array_equal(session.run(xs(6)[0], state=states[0])["y"], wanted[0][0])


def test_streams_run_at_the_same_time(stream: Path, by_hand: jitney.Session) -> None:
    wrong: list[int] = []
    with jitney.Session(stream, threads=1) as session:

        def work(seed: int) -> None:
            state = session.new_state()
            for x, wanted in zip(xs(40, seed), expected(by_hand, xs(40, seed)), strict=True):
                if not np.array_equal(session.run(x, state=state)["y"], wanted):
                    wrong.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_a_state_may_be_given_and_asked_for(stream: Path, by_hand: jitney.Session) -> None:
    start = np.random.default_rng(9).standard_normal((2, 4)).astype(np.float32)
    inputs = xs(3)
    wanted = expected(by_hand, inputs, start)
    with jitney.Session(stream) as session:
        first = session.run({"x": inputs[0], "h": start}, outputs=["y", "h_out", "count_out"])
        np.testing.assert_array_equal(first["y"], wanted[0])
        assert first["count_out"] == [1]
        # What was returned is a copy: to change it changes nothing.
        first["h_out"][:] = 7
        target = np.empty((2, 4), np.float32)
        second = session.run(inputs[1], out={"h_out": target})
        np.testing.assert_array_equal(second["y"], wanted[1])
        third = session.run({"x": inputs[2], "h": target}, outputs=["y", "count_out"])
        np.testing.assert_array_equal(third["y"], wanted[2])
        assert third["count_out"] == [3]


def test_a_failed_run_leaves_the_state_as_it_was(stream: Path, by_hand: jitney.Session) -> None:
    inputs = xs(2)
    wanted = expected(by_hand, inputs)
    with jitney.Session(stream) as session:
        session.run(inputs[0])
        with pytest.raises(InvalidInput):
            session.run(np.zeros((3, 3), np.float32))
        np.testing.assert_array_equal(session.run(inputs[1])["y"], wanted[1])


def test_what_is_wrong_is_said(stream: Path, tmp_path: Path) -> None:
    target = tmp_path / "gru.jny"
    for states, message in (
        ({"h": "nothing"}, "names no output"),
        ({"nothing": "h_out"}, "names no input"),
        ({"h": "count_out"}, "is float, but its output is int64"),
        ({"h": "y"}, r"has the shape \[2, 4\], but its output has \[2, 2\]"),
        ({"h": "h_out", "h_out": "h"}, "two states have the input 'h'"),
        ({"h": "h_out", "count": "h_out"}, "two states have the output 'h_out'"),
    ):
        with pytest.raises(InvalidInput, match=message):
            jitney.convert(gru(), target, states=states, verify=False)
    with pytest.raises(Unsupported, match="open sizes") as caught:
        jitney.convert(gru("N"), target, states=STATES, verify=False)
    assert "--shape" in caught.value.hint
    jitney.convert(gru("N"), target, states={"h_out": "h", "count": "count_out"}, shapes={"h": (1, 4)}, verify=False)
    with jitney.Session(target) as other, jitney.Session(stream) as session:
        foreign: Any = other.new_state()
        with pytest.raises(InvalidInput, match="belongs to another model"):
            session.run(xs(1)[0], state=foreign)
        with pytest.raises(InvalidInput, match="new_state"):
            session.run(xs(1)[0], state={})  # type: ignore[arg-type]


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_while_another_thread_has_the_state(stream: Path) -> None:
    session = jitney.Session(stream)
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            session.run(xs(1)[0])

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(30):
            assert holds_in_child(lambda: bool(session.run(xs(1)[0])))
    finally:
        done.set()
        worker.join()
