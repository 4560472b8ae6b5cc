"""What a session promises when it is used rightly."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from forking import holds_in_child, needs_fork
from onnx import TensorProto, helper
from onnx_models import make_onnx

import jitney
from jitney.converter.convert import convert_to_bytes


def reference(path: Path, x: np.ndarray) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(path.with_suffix(".onnx"), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(2).standard_normal((6, 4), np.float32)


def test_describes_the_model(linear: Path) -> None:
    with jitney.Session(linear) as session:
        assert session.inputs == (jitney.TensorInfo("x", "float32", ("N", 4)),)
        assert [info.name for info in session.outputs] == ["y", "r"]
        assert session.outputs[0].shape == ("N", 3)
        assert session.metadata["onnx.meta.author"] == "test"
        assert "x: float32 [N, 4]" in repr(session)


@pytest.mark.parametrize("backend", ["auto", "cpu", "reference"])
def test_gives_what_onnxruntime_gives(linear: Path, x: np.ndarray, backend: str) -> None:
    with jitney.Session(linear, backend=backend) as session:
        results = session.run({"x": x})
    for name, wanted in zip(("y", "r"), reference(linear, x)):
        np.testing.assert_allclose(results[name], wanted, rtol=1e-5, atol=1e-6)


def test_opens_paths_bytes_and_models(linear: Path, x: np.ndarray) -> None:
    model = jitney.Model(linear)
    data = linear.read_bytes()
    sources = [linear, str(linear), data, bytearray(data), memoryview(data), model, jitney.Session(linear).model]
    wanted = jitney.Session(linear).run(x)["y"]
    for source in sources:
        assert np.array_equal(jitney.Session(source).run(x)["y"], wanted)


def test_opens_a_path_that_is_not_ascii(linear: Path, tmp_path: Path) -> None:
    path = tmp_path / "модель 模型.jny"
    path.write_bytes(linear.read_bytes())
    assert jitney.Session(path).inputs[0].name == "x"


def test_runs_a_single_array(linear: Path, x: np.ndarray) -> None:
    session = jitney.Session(linear)
    assert np.array_equal(session.run(x)["y"], session.run({"x": x})["y"])


def test_picks_outputs(linear: Path, x: np.ndarray) -> None:
    session = jitney.Session(linear)
    assert list(session.run(x)) == ["y", "r"]
    assert list(session.run(x, outputs=["r"])) == ["r"]
    assert list(session.run(x, outputs=["r", "y"])) == ["r", "y"]


def test_fills_arrays_given(linear: Path, x: np.ndarray) -> None:
    session = jitney.Session(linear)
    wanted = session.run(x)
    for target in (np.empty((6, 3), np.float32), np.empty((3, 6), np.float32).T, np.empty((12, 3), np.float32)[::-2]):
        results = session.run(x, out={"y": target})
        assert results["y"] is target
        assert np.array_equal(target, wanted["y"])
        assert np.array_equal(results["r"], wanted["r"])


def test_fills_an_array_that_is_also_the_input(add: Path) -> None:
    session = jitney.Session(add)
    memory = np.arange(9, dtype=np.float32)
    left, target = memory[:8], memory[1:]
    wanted = left + 1
    session.run({"left": left, "right": np.ones(8, np.float32)}, out={"total": target})
    assert np.array_equal(target, wanted)


@pytest.mark.parametrize(
    "layout",
    [
        lambda x: np.asfortranarray(x),
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: x[::-1].copy()[::-1],
        lambda x: x[:, ::-1].copy()[:, ::-1],
        lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape),
    ],
    ids=["fortran", "strided", "negative rows", "negative columns", "misaligned"],
)
def test_takes_any_strides(linear: Path, x: np.ndarray, layout) -> None:
    session = jitney.Session(linear)
    array = layout(x)
    assert np.array_equal(array, x)
    assert np.array_equal(session.run(array)["y"], session.run(x)["y"])


def test_takes_broadcast_and_read_only_arrays(linear: Path, x: np.ndarray) -> None:
    session = jitney.Session(linear)
    row = np.broadcast_to(x[0], (6, 4))
    assert np.array_equal(session.run(row)["y"], session.run(row.copy())["y"])
    before = x.copy()
    x.flags.writeable = False
    session.run(x)
    assert np.array_equal(x, before)


def test_takes_a_structured_field(linear: Path, x: np.ndarray) -> None:
    records = np.zeros((6, 4), dtype=[("tag", np.uint8), ("value", np.float32)])
    records["value"] = x
    session = jitney.Session(linear)
    assert np.array_equal(session.run(records["value"])["y"], session.run(x)["y"])


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 64])
def test_any_batch(linear: Path, rows: int) -> None:
    x = np.random.default_rng(rows).standard_normal((rows, 4), np.float32)
    y = jitney.Session(linear).run(x)["y"]
    assert y.shape == (rows, 3)
    np.testing.assert_allclose(y, reference(linear, x)[0], rtol=1e-5, atol=1e-6)


def test_sizes_may_change_between_runs(conv: Path) -> None:
    session = jitney.Session(conv)
    for size in [(1, 3, 32, 32), (2, 3, 17, 40), (1, 3, 32, 32)]:
        x = np.random.default_rng(3).standard_normal(size, np.float32)
        np.testing.assert_allclose(session.run(x)["y"], reference(conv, x)[0], rtol=1e-4, atol=1e-6)


def test_rows_and_threads_do_not_change_a_result(conv: Path) -> None:
    rng = np.random.default_rng(4)
    image = rng.standard_normal((1, 3, 31, 29), np.float32)
    alone = jitney.Session(conv, threads=1).run(image)["y"]
    for threads in (1, 2):
        session = jitney.Session(conv, threads=threads)
        for place in (0, 3, 6):
            batch = rng.standard_normal((7, 3, 31, 29), np.float32)
            batch[place] = image[0]
            assert np.array_equal(session.run(batch)["y"][place], alone[0])


def test_outputs_own_their_memory(linear: Path, x: np.ndarray) -> None:
    session = jitney.Session(linear)
    first = session.run(x)
    kept = first["y"].copy()
    second = session.run(x * 2)
    session.close()
    del session
    gc.collect()
    assert np.array_equal(first["y"], kept)
    assert not np.shares_memory(first["y"], second["y"])
    first["y"][...] = 0  # writeable


def test_nan_and_infinity_pass_through(linear: Path) -> None:
    x = np.array([[np.nan, 0, 0, 0], [np.inf, 0, 0, 0], [0, 0, 0, 0]], np.float32)
    y = jitney.Session(linear).run(x)["y"]
    assert np.isnan(y[0]).all()
    assert np.isinf(y[1]).all()
    assert np.isfinite(y[2]).all()


def test_prepare_and_reports(conv: Path) -> None:
    session = jitney.Session(conv, threads=1)
    session.prepare({"x": (2, 3, 64, 64)})
    memory = session.memory_report
    assert memory.arena_bytes >= memory.lower_bound_bytes > 0
    assert memory.weight_bytes > 0
    smaller = session.plan_report({"x": (1, 3, 16, 16)})
    assert smaller.memory.arena_bytes < memory.arena_bytes
    assert "conv" in [step.op for step in smaller.steps]
    report = session.backend_report
    assert (report.requested, report.backend, report.threads) == ("auto", "cpu", 1)
    assert report.reason


def test_profile_counts_runs(conv: Path) -> None:
    session = jitney.Session(conv, profile=True)
    x = np.zeros((1, 3, 16, 16), np.float32)
    for _ in range(3):
        session.run(x)
    steps = session.plan_report().steps
    assert all(step.runs == 3 for step in steps)
    assert sum(step.nanoseconds for step in steps) > 0


def test_check_reads_all_weights(linear: Path) -> None:
    data = bytearray(linear.read_bytes())
    data[-1] ^= 1  # the last byte of the last weight block
    with pytest.raises(jitney.InvalidModel):
        jitney.Session(bytes(data), check=True)
    with pytest.raises(jitney.InvalidModel):
        jitney.Model(bytes(data)).check_weights()


def test_one_session_from_eight_threads(conv: Path) -> None:
    session = jitney.Session(conv, threads=2)
    inputs = [np.random.default_rng(i).standard_normal((1 + i % 3, 3, 20 + i, 24), np.float32) for i in range(8)]
    wanted = [session.run(x)["y"] for x in inputs]
    wrong: list[int] = []

    def work(index: int) -> None:
        results = [session.run(inputs[index])["y"] for _ in range(10)]
        wrong.extend(index for result in results if not np.array_equal(result, wanted[index]))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_close_while_others_run(conv: Path) -> None:
    session = jitney.Session(conv, threads=2)
    x = np.zeros((1, 3, 32, 32), np.float32)
    unexpected: list[BaseException] = []

    def work() -> None:
        try:
            while True:
                session.run(x)
        except jitney.SessionClosed:
            pass
        except BaseException as error:
            unexpected.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    session.close()
    for thread in threads:
        thread.join()
    assert unexpected == []


def test_run_lets_other_threads_work(conv: Path) -> None:
    """This thread could not count while the other is inside a run if that held the interpreter's lock."""
    session = jitney.Session(conv, threads=1)
    x = np.zeros((4, 3, 256, 256), np.float32)
    session.run(x)
    running = threading.Event()
    done = threading.Event()
    ticks = 0

    def work() -> None:
        running.set()
        for _ in range(20):
            session.run(x)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    running.wait()
    while not done.is_set():
        ticks += 1
    thread.join()
    assert ticks > 100


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_after_a_run(conv: Path) -> None:
    session = jitney.Session(conv, threads=2)
    x = np.random.default_rng(5).standard_normal((2, 3, 40, 40), np.float32)
    wanted = session.run(x)["y"]
    assert holds_in_child(lambda: np.array_equal(session.run(x)["y"], wanted))
    assert np.array_equal(session.run(x)["y"], wanted)


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_while_other_threads_plan_and_run(conv: Path) -> None:
    """Their locks are free in the child, and closing does not wait for their runs."""
    session = jitney.Session(conv, threads=2, plan_cache_bytes=0)
    x = np.random.default_rng(5).standard_normal((1, 3, 16, 16), np.float32)
    wanted = session.run(x)["y"]
    done = threading.Event()

    def work(size: int) -> None:
        while not done.is_set():
            size = size % 60 + 1
            session.run(np.zeros((1, 3, size, size), np.float32))

    def check() -> bool:
        good = np.array_equal(session.run(x)["y"], wanted)
        session.close()
        return good

    workers = [threading.Thread(target=work, args=(size,)) for size in (1, 20, 40)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(30):
            assert holds_in_child(check)
    finally:
        done.set()
        for worker in workers:
            worker.join()


@pytest.mark.parametrize("size", [8, 96])
def test_the_interpreter_may_end_while_daemon_threads_run(conv: Path, size: int) -> None:
    code = f"""
import threading, time, numpy, jitney
session = jitney.Session({str(conv)!r}, threads=2)
x = numpy.zeros((2, 3, {size}, {size}), numpy.float32)
def loop():
    while True:
        session.run(x)
for _ in range(3):
    threading.Thread(target=loop, daemon=True).start()
time.sleep(0.1)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_ctrl_c_ends_an_endless_loop() -> None:
    """In a process of its own: were the run not interrupted, nothing in this one could end it."""
    number, flag = TensorProto.INT64, TensorProto.BOOL
    types = {"i": number, "go": flag, "count": number, "again": flag, "more": number}
    infos = {name: helper.make_tensor_value_info(name, dtype, []) for name, dtype in types.items()}
    nodes = [helper.make_node("Identity", ["go"], ["again"]), helper.make_node("Add", ["count", "one"], ["more"])]
    one = onnx.numpy_helper.from_array(np.array(1), "one")
    parts = [[infos[name] for name in names] for names in (("i", "go", "count"), ("again", "more"))]
    loop = helper.make_node("Loop", ["trips", "", "start"], ["y"], body=helper.make_graph(nodes, "body", *parts, [one]))
    model = make_onnx([loop], [("trips", number, []), ("start", number, [])], [("y", number, [])])
    code = f"""
import _thread, signal, threading
import numpy as np
import jitney
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
session = jitney.Session({convert_to_bytes(model)!r}, threads=1)
start = np.int64(0)
threading.Timer(0.1, _thread.interrupt_main).start()
try:
    session.run({{"trips": np.int64(2**62), "start": start}})
except KeyboardInterrupt:
    print("interrupted,", session.run({{"trips": np.int64(3), "start": start}})["y"])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert result.stdout == "interrupted, 3\n", result.stderr
