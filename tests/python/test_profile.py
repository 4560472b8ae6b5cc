"""What a profiling session tells: events of steps and runs, buffers of the plan, and why kernels were chosen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper
from onnx_models import make_onnx

import jitney
from jitney import _core


def test_events_of_a_run(conv: Path) -> None:
    with jitney.Session(conv, profile=True, threads=1) as session:
        x = np.zeros((1, 3, 32, 32), np.float32)
        for _ in range(3):
            session.run(x)
        profile = session.take_profile()
        assert session.take_profile().events == ()
        assert [step.node for step in profile.steps] == [step.node for step in session.plan_report().steps]
    runs = [event for event in profile.events if event.step < 0]
    steps = [event for event in profile.events if event.step >= 0]
    assert len(runs) == 3 and len(steps) == 3 * len(profile.steps)
    assert profile.dropped == 0 and {event.thread for event in profile.events} == {0}
    for event in steps:
        assert any(run.start <= event.start <= event.end <= run.end for run in runs)


def test_nothing_is_recorded_unasked(conv: Path) -> None:
    with jitney.Session(conv) as session:
        session.run(np.zeros((1, 3, 32, 32), np.float32))
        assert session.take_profile() == jitney.reports.Profile((), (), 0)


def test_a_loop_shows_its_body(tmp_path: Path) -> None:
    """The body's steps lie within the loop's event, once per iteration."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["go"]), helper.make_node("Sin", ["h"], ["next"], name="inside")],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("h", TensorProto.FLOAT, ["N"]),
        ],
        [
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, ["N"]),
        ],
    )
    proto = make_onnx(
        [helper.make_node("Loop", ["n", "", "x"], ["y"], name="turn", body=body)],
        [("n", TensorProto.INT64, []), ("x", TensorProto.FLOAT, ["N"])],
        [("y", TensorProto.FLOAT, None)],
    )
    path = tmp_path / "loop.jny"
    jitney.convert(proto.SerializeToString(), path, verify=False)
    with jitney.Session(path, profile=True) as session:
        session.run({"n": np.array(4), "x": np.ones(5, np.float32)})
        profile = session.take_profile()
    named = {profile.steps[event.step].node: event for event in profile.events if event.step >= 0}
    inside = [event for event in profile.events if event.step >= 0 and profile.steps[event.step].node == "inside"]
    assert len(inside) == 4
    assert all(named["turn"].start <= event.start <= event.end <= named["turn"].end for event in inside)


def test_steps_say_what_they_cost_and_why(linear: Path) -> None:
    with jitney.Session(linear) as session:
        step = session.plan_report({"x": (6, 4)}).steps[0]
    assert step.flops == 2 * 6 * 4 * 3
    assert step.bytes >= 4 * (6 * 4 + 4 * 3 + 6 * 3)
    assert "[6×4]·[4×3]" in step.why and "packed once" in step.why


def test_buffers_of_a_plan(conv: Path) -> None:
    with jitney.Session(conv) as session:
        report = session.plan_report({"x": (1, 3, 32, 32)})
    assert report.buffers
    assert max(buffer.offset + buffer.bytes for buffer in report.buffers) <= report.memory.arena_bytes
    live = [sum(-(-b.bytes // 64) * 64 for b in report.buffers if b.first <= i <= b.last) for i in range(len(report.steps))]
    assert max(live) == report.memory.lower_bound_bytes
    assert all(buffer.first <= buffer.last < len(report.steps) and buffer.written_by for buffer in report.buffers)


def test_machine_peak() -> None:
    flops, bytes_read = _core.machine_peak(1)
    assert 1e8 < flops < 1e13 and 1e7 < bytes_read < 1e13


def test_work_of_threads(tmp_path: Path) -> None:
    """A product that is worth several threads tells what each of them did."""
    weight = np.random.default_rng(0).standard_normal((512, 512)).astype(np.float32)
    proto = make_onnx(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [("x", TensorProto.FLOAT, [256, 512])],
        [("y", TensorProto.FLOAT, None)],
        {"w": weight},
    )
    jitney.convert(proto.SerializeToString(), tmp_path / "product.jny", verify=False)
    with jitney.Session(tmp_path / "product.jny", profile=True, threads=2) as session:
        for _ in range(20):
            session.run(np.ones((256, 512), np.float32))
        profile = session.take_profile()
    steps = [event for event in profile.events if event.step >= 0]
    assert profile.work and {event.worker for event in profile.work} <= {0, 1}
    for event in profile.work:
        assert any(step.start <= event.start <= event.end <= step.end and step.step == event.step for step in steps)
        assert 0 < event.busy <= event.end - event.start
