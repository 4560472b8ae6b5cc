"""What a session says to wrong input: a typed error that names what was given and what is wanted."""

from __future__ import annotations

import copy
import os
import pickle
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import jitney
from jitney.calls import advised


@pytest.fixture(scope="module")
def session(linear: Path) -> jitney.Session:
    return jitney.Session(linear)


GOOD = np.zeros((2, 4), np.float32)

WRONG = {
    "unknown name": ({"X1": GOOD}, "no input named 'X1'"),
    "extra name": ({"x": GOOD, "z": GOOD}, "no input named 'z'"),
    "missing name": ({}, "no value was given for 'x'"),
    "name of another type": ({1: GOOD}, "no input named 1"),
    "float64": ({"x": GOOD.astype(np.float64)}, "dtype float64; float32 is wanted"),
    "float16": ({"x": GOOD.astype(np.float16)}, "dtype float16; float32 is wanted"),
    "int32": ({"x": GOOD.astype(np.int32)}, "dtype int32; float32 is wanted"),
    "object": ({"x": GOOD.astype(object)}, "dtype object; float32 is wanted"),
    "string": ({"x": GOOD.astype(str)}, "float32 is wanted"),
    "big-endian": ({"x": GOOD.astype(">f4")}, "foreign byte order"),
    "rank": ({"x": GOOD[0]}, r"rank 1 \(shape \[4\]\); rank 2 is wanted: \[N, 4\]"),
    "high rank": ({"x": GOOD[None]}, "rank 3"),
    "scalar": ({"x": np.float32(1)}, "rank 0"),
    "fixed dim": ({"x": np.zeros((2, 5), np.float32)}, "has 5 in axis 1"),
    "zero in a fixed dim": ({"x": np.zeros((2, 0), np.float32)}, "has 0 in axis 1"),
    "None": ({"x": None}, "is of type None"),
    "list": ({"x": [[1.0, 2.0, 3.0, 4.0]]}, "is of type list"),
    "masked": ({"x": np.ma.masked_array(GOOD, GOOD > 1)}, "masked"),
    "bytes": ({"x": GOOD.tobytes()}, "is of type bytes"),
    "None as inputs": (None, "is of type None"),
    "a list as inputs": ([GOOD], "is of type list"),
    "a float": (1.0, "is of type float"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input(session: jitney.Session, case: str) -> None:
    inputs, message = WRONG[case]
    with pytest.raises(jitney.InvalidInput, match=message):
        session.run(inputs)
    assert session.run(GOOD)["y"].shape == (2, 3)  # the session still works


def test_hints(session: jitney.Session) -> None:
    with pytest.raises(ValueError, match="float64") as caught:
        session.run({"x": GOOD.astype(np.float64)})
    assert "astype(np.float32)" in caught.value.hint
    with pytest.raises(jitney.InvalidInput) as caught:
        session.run({"xx": GOOD})
    assert caught.value.hint == "did you mean 'x'?"
    with pytest.raises(jitney.InvalidInput) as caught:
        session.run(GOOD[0])
    assert "np.newaxis" in caught.value.hint


@pytest.mark.parametrize(
    ("shape", "hint"),
    [
        ((1, 8, 9, 3), "array.transpose(0, 3, 1, 2)"),
        ((8, 9, 3), "array[np.newaxis].transpose(0, 3, 1, 2)"),
        ((3, 8, 9), "add the batch axis: array[np.newaxis]"),
        ((8, 9), ""),
        ((1, 4, 8, 9), ""),
        ((1, 3, 8), ""),  # neither one more axis nor another order of them makes three channels of it
    ],
)
def test_hints_follow_from_the_shape(conv: Path, shape: tuple[int, ...], hint: str) -> None:
    with jitney.Session(conv) as session, pytest.raises(jitney.InvalidInput) as caught:
        session.run(np.zeros(shape, np.float32))
    assert hint in caught.value.hint
    assert bool(hint) == bool(caught.value.hint)


def test_sizes_of_a_plan_get_no_advice_for_arrays(conv: Path) -> None:
    with jitney.Session(conv) as session, pytest.raises(jitney.InvalidInput, match="shape given for input 'x'") as caught:
        session.prepare({"x": (3, 8, 9)})
    assert "array" not in caught.value.hint


def test_one_array_for_two_inputs(add: Path) -> None:
    with pytest.raises(jitney.InvalidInput, match="2 inputs: 'left', 'right'"):
        jitney.Session(add).run(np.zeros(3, np.float32))


def test_sizes_that_contradict_each_other(add: Path) -> None:
    session = jitney.Session(add)
    with pytest.raises(jitney.InvalidInput) as caught:
        session.run({"left": np.zeros(3, np.float32), "right": np.zeros(4, np.float32)})
    assert caught.value.hint
    assert session.run({"left": np.zeros(3, np.float32), "right": np.ones(3, np.float32)})["total"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (["q"], "no output named 'q'"),
        ("y", "is a str"),
        (["y", "y"], "twice"),
        ([1], "no output named 1"),
        (3, "a list of names"),
    ],
)
def test_wrong_output_names(session: jitney.Session, outputs: object, message: str) -> None:
    with pytest.raises(jitney.InvalidInput, match=message):
        session.run(GOOD, outputs=outputs)


def test_outputs_may_be_none_at_all(session: jitney.Session) -> None:
    assert session.run(GOOD, outputs=[]) == {}


def test_outputs_may_be_any_iterable(session: jitney.Session) -> None:
    assert list(session.run(GOOD, outputs=(name for name in ("r", "y")))) == ["r", "y"]


def _read_only() -> np.ndarray:
    array = np.zeros((2, 3), np.float32)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "target",
    [
        np.zeros((2, 4), np.float32),
        np.zeros((3, 3), np.float32),
        np.zeros(6, np.float32),
        np.zeros((2, 3), np.float64),
        np.zeros((2, 3), ">f4"),
        _read_only(),
        np.lib.stride_tricks.as_strided(np.zeros(3, np.float32), (2, 3), (0, 4)),
        np.lib.stride_tricks.as_strided(np.zeros(8, np.float32), (2, 3), (8, 4)),
        [[0.0] * 3] * 2,
        None,
    ],
    ids=["columns", "rows", "rank", "dtype", "byte order", "read-only", "repeated", "folded", "list", "None"],
)
def test_wrong_target(session: jitney.Session, target: object) -> None:
    with pytest.raises(jitney.InvalidInput):
        session.run(GOOD, out={"y": target})


@pytest.mark.parametrize("out", [[1], "y", np.zeros((2, 3), np.float32)])
def test_targets_that_are_no_dict(session: jitney.Session, out: object) -> None:
    with pytest.raises(jitney.InvalidInput, match="out is of type"):
        session.run(GOOD, out=out)


def test_targets_that_share_memory(session: jitney.Session) -> None:
    memory = np.zeros((4, 6), np.float32)
    for y, r in ((memory[:2, :3], memory[:2, :3]), (memory[:2, :3], memory[1:3, :3])):
        with pytest.raises(jitney.InvalidInput, match="share memory"):
            session.run(GOOD, out={"y": y, "r": r})
    expected = session.run(GOOD + 1)
    for y, r in ((memory[:2, :3], memory[:2, 3:]), (memory[::2, :3], memory[1::2, :3]), (memory[:2, ::-2], memory[3:1:-1, ::2])):
        session.run(GOOD + 1, out={"y": y, "r": r})
        assert np.array_equal(y, expected["y"])
        assert np.array_equal(r, expected["r"])


def test_target_for_an_output_that_is_not_asked_for(session: jitney.Session) -> None:
    with pytest.raises(jitney.InvalidInput, match="leaves out"):
        session.run(GOOD, outputs=["r"], out={"y": np.zeros((2, 3), np.float32)})
    with pytest.raises(jitney.InvalidInput, match="no output named"):
        session.run(GOOD, out={"q": np.zeros((2, 3), np.float32)})


WRONG_SHAPES = [{"q": (1, 4)}, {"x": (1,)}, {"x": (1, 5)}, {"x": (-1, 4)}, {"x": (1.5, 4)}, {"x": (2**70, 4)}, {"x": "14"}]
WRONG_SHAPES += [{"x": None}, {"x": 4}, {"x": (1, "4")}, None, [], "x"]


@pytest.mark.parametrize("shapes", WRONG_SHAPES)
def test_wrong_shapes_to_prepare(session: jitney.Session, shapes: dict[str, object]) -> None:
    with pytest.raises(jitney.InvalidInput):
        session.prepare(shapes)


@pytest.mark.parametrize("rows", [2**40, 2**58])
def test_sizes_beyond_memory(session: jitney.Session, rows: int) -> None:
    """A broadcast array claims any size without having the memory; its results cannot."""
    with pytest.raises(jitney.OutOfMemory):
        session.run(np.broadcast_to(GOOD[0], (rows, 4)))


@pytest.mark.parametrize("rows", [2**61, 2**62, 2**63 - 1])
def test_sizes_beyond_64_bits(session: jitney.Session, rows: int) -> None:
    with pytest.raises((jitney.OutOfMemory, jitney.InvalidInput)):
        session.prepare({"x": (rows, 4)})


WRONG_OPTIONS = [{"threads": -1}, {"threads": 1.5}, {"threads": "2"}, {"threads": True}, {"threads": 2**70}]
WRONG_OPTIONS += [{"check": "no"}, {"check": 2}, {"profile": None}, {"backend": "\ud800"}]
WRONG_OPTIONS += [{"plan_cache_bytes": -1}, {"plan_cache_bytes": 2**70}, {"backend": None}]


@pytest.mark.parametrize("options", WRONG_OPTIONS)
def test_wrong_options(linear: Path, options: dict[str, object]) -> None:
    with pytest.raises(jitney.InvalidInput, match=next(iter(options))):
        jitney.Session(linear, **options)


def test_unknown_option_and_backend(linear: Path) -> None:
    with pytest.raises(TypeError, match="did you mean threads=…"):
        jitney.Session(linear, thread=2)
    for backend in ("vulkan", "", "CPU"):
        with pytest.raises((jitney.Unsupported, jitney.InvalidInput)):
            jitney.Session(linear, backend=backend)


@pytest.mark.parametrize("source", [None, 1, ["m.jny"], object()])
def test_no_model(source: object) -> None:
    with pytest.raises(jitney.InvalidInput, match="a model was given as"):
        jitney.Session(source)


def test_missing_and_unreadable_paths(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing") as caught:
        jitney.Session(tmp_path / "missing.jny")
    assert isinstance(caught.value, jitney.IoError)
    for path in (tmp_path, "", "a\0b", "\ud800"):
        with pytest.raises(jitney.IoError):
            jitney.Session(path)


def test_closed(linear: Path) -> None:
    session = jitney.Session(linear)
    session.close()
    session.close()
    for call in (lambda: session.run(GOOD), lambda: session.prepare({"x": (1, 4)}), lambda: session.memory_report):
        with pytest.raises(jitney.SessionClosed):
            call()
    with pytest.raises(jitney.SessionClosed), session:
        session.run(GOOD)


def damage(data: bytes) -> dict[str, bytes]:
    def patched(offset: int, value: bytes) -> bytes:
        return data[:offset] + value + data[offset + len(value) :]

    return {
        "empty": b"",
        "one byte": data[:1],
        "header only": data[:64],
        "truncated": data[:-1],
        "half": data[: len(data) // 2],
        "trailing": data + b"\0",
        "random": np.random.default_rng(6).bytes(4096),
        "magic": patched(0, b"ONNX"),
        "newer version": patched(8, struct.pack("<II", 9, 9)),
        "size": patched(24, struct.pack("<Q", 1 << 62)),
        "sections": patched(16, struct.pack("<I", 0xFFFFFFFF)),
    }


@pytest.mark.parametrize("case", list(damage(bytes(64))))
def test_damaged_file(linear: Path, tmp_path: Path, case: str) -> None:
    data = damage(linear.read_bytes())[case]
    path = tmp_path / "damaged.jny"
    path.write_bytes(data)
    for source in (data, path):
        with pytest.raises(jitney.InvalidModel) as caught:
            jitney.Session(source)
        assert str(caught.value)


def test_newer_version_says_so(linear: Path) -> None:
    with pytest.raises(jitney.InvalidModel, match="version"):
        jitney.Session(damage(linear.read_bytes())["newer version"])


def test_every_flipped_bit_of_the_structure_is_found(linear: Path) -> None:
    data = linear.read_bytes()
    weights = struct.unpack_from("<Q", data, 64 + 2 * 32 + 8)[0]
    version = range(8, 12)  # a higher one is allowed: the next field says what a reader must know
    for position in (position for position in range(weights) if position not in version):
        changed = bytearray(data)
        changed[position] ^= 1 << (position % 8)
        try:
            jitney.Session(bytes(changed), check=True)
        except jitney.InvalidModel:
            continue
        pytest.fail(f"a flipped bit at {position} of {len(data)} went unnoticed")


def test_flipped_bits_behind_right_checksums_never_crash(linear: Path) -> None:
    """As if written by an enemy: the graph section is changed and its checksum repaired."""
    data = linear.read_bytes()
    _, _, offset, size = struct.unpack_from("<IIQQ", data, 64)
    for position in range(offset, offset + size):
        changed = bytearray(data)
        changed[position] ^= 1 << (position % 8)
        struct.pack_into("<I", changed, 68, zlib.crc32(changed[offset : offset + size]))
        sections = struct.unpack_from("<I", changed, 16)[0]
        struct.pack_into("<I", changed, 32, zlib.crc32(changed[64 : 64 + 32 * sections]))
        try:
            session = jitney.Session(bytes(changed))
            session.run({info.name: np.zeros((2, 4), info.dtype) for info in session.inputs})
        except jitney.Error:
            continue


def test_an_onnx_file_is_no_jny_file(linear: Path) -> None:
    with pytest.raises(jitney.InvalidModel) as caught:
        jitney.Session(linear.with_suffix(".onnx"))
    assert "jitney convert" in caught.value.hint


def test_errors_can_be_pickled_and_copied() -> None:
    error = jitney.InvalidInput("message", node="n", op="conv", hint="do")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(other), other.message, other.node, other.op, other.hint) == (
            jitney.InvalidInput,
            "message",
            "n",
            "conv",
            "do",
        )
        assert str(other) == "message (in conv node 'n')\nHint: do"


def test_error_classes() -> None:
    assert issubclass(jitney.InvalidInput, ValueError)
    assert issubclass(jitney.OutOfMemory, MemoryError)
    assert issubclass(jitney.IoError, OSError)
    classes = [jitney.InvalidModel, jitney.InvalidInput, jitney.Unsupported, jitney.OutOfMemory, jitney.IoError]
    classes += [jitney.SessionClosed, jitney.InternalError, jitney.Mismatch]
    assert all(issubclass(cls, jitney.Error) for cls in classes)
    assert len({cls.code for cls in classes}) == len(classes)


WRONG_SETTINGS: list[tuple[dict[str, object], type[Exception]]] = [
    ({"shapes": {"x": 3}}, jitney.InvalidInput),
    ({"shapes": {"x": None}}, jitney.InvalidInput),
    ({"shapes": {"x": (1.5, 4)}}, jitney.InvalidInput),
    ({"shapes": {"x": "N4"}}, jitney.InvalidInput),
    ({"shapes": [("x", (1, 4))]}, jitney.InvalidInput),
    ({"seed": -1}, jitney.InvalidInput),
    ({"seed": "a"}, jitney.InvalidInput),
    ({"sample": 3}, jitney.InvalidInput),
    ({"sample": {"x": np.zeros((1, 5), np.float32)}}, jitney.InvalidInput),
    ({"sample": {"x": np.zeros(4, np.float32)}}, jitney.InvalidInput),
    ({"sample": {"x": np.zeros((1, 4))}}, jitney.InvalidInput),
    ({"stop_after": 3}, jitney.InvalidInput),
    ({"dump": "/dev/null/folder"}, jitney.IoError),
]


@pytest.mark.parametrize(("settings", "error"), WRONG_SETTINGS)
def test_wrong_settings_of_convert(linear: Path, tmp_path: Path, settings: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        jitney.convert(linear.with_suffix(".onnx"), tmp_path / "m.jny", **settings)
    assert not list(tmp_path.iterdir())


def test_sample_that_is_no_archive(linear: Path, tmp_path: Path) -> None:
    for data in (b"", b"PK\x03\x04 cut off", b"\x93NUMPY"):
        (tmp_path / "sample.npz").write_bytes(data)
        with pytest.raises(jitney.InvalidInput, match="cannot be read"):
            jitney.convert(linear.with_suffix(".onnx"), tmp_path / "m.jny", sample=tmp_path / "sample.npz")


def test_wrong_instruction_set_is_nobody_elses_fault(linear: Path, tmp_path: Path) -> None:
    code = f"import jitney; jitney.convert({str(linear.with_suffix('.onnx'))!r}, {str(tmp_path / 'm.jny')!r})"
    environment = os.environ | {"JITNEY_ISA": "mmx"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "InvalidInput: JITNEY_ISA is 'mmx'" in result.stderr


def test_calls_as_other_libraries_want_them(linear: Path) -> None:
    session = jitney.Session(linear)
    x = np.zeros((1, 4), np.float32)
    with pytest.raises(jitney.InvalidInput, match=r"run\({name: array}, outputs=.*jitney.ort"):
        session.run(None, {"x": x})
    with pytest.raises(jitney.InvalidInput, match="did you mean outputs=…"):
        session.run({"x": x}, output=["y"])
    with pytest.raises(jitney.InvalidInput, match="the arguments are: model, backend, threads"):
        jitney.Session(linear, providers=["CPUExecutionProvider"])
    with pytest.raises(jitney.InvalidInput, match=r"convert\(…\): .*'shape'\nHint: did you mean shapes=…"):
        jitney.convert(linear.with_suffix(".onnx"), shape={"x": (1, 4)})


def test_a_type_error_from_inside_a_call_passes() -> None:
    @advised()
    def add(x: int) -> int:
        return x + "1"

    with pytest.raises(TypeError, match="unsupported operand") as caught:
        add(1)
    assert not isinstance(caught.value, jitney.Error)
