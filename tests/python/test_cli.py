"""The command line: results on stdout, the rest on stderr, exit status 0 only on success."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import make_onnx

import jitney

Result = subprocess.CompletedProcess[str]


def run(*arguments: object, cwd: Path | None = None, **options: object) -> Result:
    command = [sys.executable, "-m", "jitney.cli", *map(str, arguments)]
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **options)
    assert "Traceback" not in result.stderr, result.stderr
    return result


def good(*arguments: object, cwd: Path | None = None) -> str:
    result = run(*arguments, cwd=cwd)
    assert result.returncode == 0, result.stderr
    return result.stdout


def failed(*arguments: object, cwd: Path | None = None, **options: object) -> str:
    """What stderr says of a failure; nothing may be on stdout."""
    result = run(*arguments, cwd=cwd, **options)
    assert result.returncode == 1, (result.returncode, result.stdout, result.stderr)
    assert result.stdout == ""
    assert result.stderr.startswith("jitney: error: ")
    return result.stderr


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    cv2.imwrite(str(path), np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8))
    return path


def test_help_and_version() -> None:
    assert all(command in good("--help") for command in ("convert", "run", "info", "bench", "verify"))
    assert good("--version").strip() == f"jitney {jitney.__version__}"
    module = subprocess.run([sys.executable, "-m", "jitney", "--version"], capture_output=True, text=True, check=True)
    assert module.stdout == good("--version")


@pytest.mark.parametrize("command", ["convert", "run", "info", "bench", "verify"])
def test_a_typo_is_no_option(command: str, conv: Path) -> None:
    result = run(command, conv, "--jsno")
    assert result.returncode == 2
    assert "--jsno" in result.stderr


def test_unknown_command_and_missing_argument() -> None:
    assert run("covnert").returncode == 2
    assert run("info").returncode == 2
    assert run("run", "m.jny").returncode != 0


def test_convert(conv: Path, tmp_path: Path) -> None:
    source = tmp_path / "net.onnx"
    shutil.copy(conv.with_suffix(".onnx"), source)
    assert "verified" in good("convert", source)
    assert (tmp_path / "net.jny").read_bytes() == conv.read_bytes()
    report = json.loads(good("convert", source, "-o", tmp_path / "fixed.jny", "--shape", "x=1,3,16,16", "--json"))
    assert report["verification"]["outcome"] == "verified"
    assert jitney.Session(tmp_path / "fixed.jny").inputs[0].shape == (1, 3, 16, 16)
    assert "skipped" in good("convert", source, "--no-verify")


@pytest.mark.parametrize("content", [b"", b"not a model", bytes(1000)], ids=["empty", "text", "zeros"])
def test_convert_of_no_model(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.onnx").write_bytes(content)
    failed("convert", tmp_path / "bad.onnx")
    assert not (tmp_path / "bad.jny").exists()


def test_convert_of_a_truncated_model(conv: Path, tmp_path: Path) -> None:
    data = conv.with_suffix(".onnx").read_bytes()
    for size in (10, len(data) // 2, len(data) - 1):
        (tmp_path / "cut.onnx").write_bytes(data[:size])
        failed("convert", tmp_path / "cut.onnx")
    assert not (tmp_path / "cut.jny").exists()


def test_convert_from_and_to_paths_that_are_not_there(conv: Path, tmp_path: Path) -> None:
    assert "missing.onnx" in failed("convert", tmp_path / "missing.onnx")
    parent = tmp_path / "file"
    parent.write_text("no folder")
    assert "file" in failed("convert", conv.with_suffix(".onnx"), "-o", parent / "net.jny")
    assert parent.read_text() == "no folder"


def test_convert_check(conv: Path, tmp_path: Path) -> None:
    source = conv.with_suffix(".onnx")
    assert good("convert", source, "--check").strip() == "the model can be converted"
    assert json.loads(good("convert", source, "--check", "--json"))["convertible"] is True
    model = onnx.load(source)
    model.graph.node[1].op_type = "NoSuchOp"
    model.graph.node[4].op_type = "NorThisOne"
    onnx.save(model, tmp_path / "lacking.onnx")
    result = run("convert", tmp_path / "lacking.onnx", "--check")
    assert (
        result.returncode == 1 and "2 problems" in result.stdout and "NoSuchOp (opset 17): this op is not known" in result.stdout
    )
    problems = json.loads(run("convert", tmp_path / "lacking.onnx", "--check", "--json").stdout)["problems"]
    assert [problem["op"] for problem in problems] == ["NoSuchOp", "NorThisOne"]
    assert list(tmp_path.iterdir()) == [tmp_path / "lacking.onnx"]
    failed("convert", tmp_path / "none.onnx", "--check")


def test_convert_bisect(conv: Path, tmp_path: Path) -> None:
    source = conv.with_suffix(".onnx")
    assert "nothing goes wrong" in good("convert", source, "--bisect")
    assert json.loads(good("convert", source, "--bisect", "--json")) == {
        "stage": "nothing", "reason": "", "pass": "", "run": 0, "node": None
    }  # fmt: skip


def test_info_of_ops() -> None:
    shown = good("info", "--ops")
    assert any(line.split()[:3] == ["Relu", "1–", "f32"] for line in shown.splitlines()) and "not supported: " in shown
    rows = json.loads(good("info", "--ops", "--json"))
    assert next(row for row in rows if row["op"] == "Conv")["becomes"] == ["conv"]


def test_convert_to_a_full_disk_leaves_the_old_file(conv: Path, tmp_path: Path) -> None:
    target = tmp_path / "net.jny"
    target.write_bytes(b"old")

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    failed("convert", conv.with_suffix(".onnx"), "-o", target, preexec_fn=limit)
    assert [path.name for path in tmp_path.iterdir()] == ["net.jny"]
    assert target.read_bytes() == b"old"


def test_info(conv: Path) -> None:
    text = good("info", conv)
    assert "x: float32 [N, 3, H, W]" in text
    data = json.loads(good("info", conv, "--shape", "x=1,3,32,32", "--plan", "--json"))
    assert data["inputs"] == [{"name": "x", "dtype": "float32", "shape": ["N", 3, "H", "W"]}]
    assert data["arena_bytes"] >= data["lower_bound_bytes"] > 0
    assert data["ops"]["conv"] == 1
    assert any(step["op"] == "conv" and step["kernel"] for step in data["steps"])
    plan = good("info", conv, "--shape", "x=1,3,32,32", "--plan")
    assert "conv" in plan and "why this kernel" in plan and "[1×8]·[8×5]" in plan


def test_info_of_other_files(tmp_path: Path, conv: Path) -> None:
    assert "missing.jny" in failed("info", tmp_path / "missing.jny")
    assert "jitney convert" in failed("info", conv.with_suffix(".onnx"))


def test_run_on_a_picture(conv: Path, photo: Path, tmp_path: Path) -> None:
    options = ["--size", "16x12", "--mean", "104,117,123", "--std", "57", "--bgr"]
    good("run", conv, "--input", f"x={photo}", *options, "--output", f"y={tmp_path / 'y.npy'}")
    pixels = cv2.resize(cv2.imread(str(photo)), (16, 12), interpolation=cv2.INTER_LINEAR).astype(np.float32)
    x = ((pixels - np.array([104, 117, 123], np.float32)) / np.float32(57)).transpose(2, 0, 1)[None]
    assert np.array_equal(np.load(tmp_path / "y.npy"), jitney.Session(conv).run(np.ascontiguousarray(x))["y"])


def test_run_reads_rgb_unless_told_otherwise(conv: Path, photo: Path) -> None:
    x = cv2.cvtColor(cv2.imread(str(photo)), cv2.COLOR_BGR2RGB).astype(np.float32).transpose(2, 0, 1)[None]
    data = json.loads(good("run", conv, "--input", photo, "--json"))
    assert np.allclose(data["outputs"]["y"]["values"], jitney.Session(conv).run(np.ascontiguousarray(x))["y"])


def test_pixels_go_straight_into_a_model_that_was_converted_for_them(conv: Path, photo: Path, tmp_path: Path) -> None:
    source, file = conv.with_suffix(".onnx"), tmp_path / "pixels.jny"
    wanted = ["--mean", "104,117,123", "--std", "57"]
    for words, order in (("uint8,nhwc", "--rgb"), ("uint8,rgb2bgr", "--bgr"), ("uint8,nhwc,bgr2rgb", "--rgb")):
        said = good("convert", source, "-o", file, "--input", f"x={words},mean=104,117,123,std=57")
        assert "verified against" in said
        plain = json.loads(good("run", conv, "--input", photo, *wanted, order, "--json"))["outputs"]["y"]["values"]
        folded = json.loads(good("run", file, "--input", photo, "--json"))["outputs"]["y"]["values"]
        assert np.allclose(plain, folded, rtol=1e-4, atol=1e-6)
    assert "verified" in good("verify", file, source)
    assert "uint8 [N, " in good("info", file)
    assert "jitney.input.x: uint8,nhwc,bgr2rgb,mean=104,117,123" in good("info", file)
    assert "takes uint8 pixels" in failed("run", file, "--input", photo, "--mean", "1")
    good("bench", file, "--shape", "x=1,8,8,3", "--rounds", "1")


def test_formats_that_are_none(conv: Path, tmp_path: Path) -> None:
    source, file = conv.with_suffix(".onnx"), tmp_path / "m.jny"
    for options, says in (
        (["--input", "uint8"], "does not name an input"),
        (["--input", "z=uint8"], "the model's inputs are 'x'"),
        (["--input", "x=uint8", "--input", "x=nhwc"], "given twice for 'x'"),
        (["--input", "x=uint9"], "is nothing that is known of an input"),
        (["--input", "x=mean=1,2"], "mean has 2 numbers, but there are 3 channels"),
        (["--input", "x=std=0"], "std contains 0"),
        (["--input", "x=uint8", "--check"], "does not go with --check"),
        (["--input", "x=uint8", "--bisect"], "does not go with --bisect"),
    ):
        assert says in failed("convert", source, "-o", file, *options)
    assert not file.exists()


def test_run_on_arrays(add: Path, tmp_path: Path) -> None:
    left, right = np.arange(3, dtype=np.float32), np.ones(3, np.float32)
    np.save(tmp_path / "left.npy", left)
    np.savez(tmp_path / "both.npz", left=left, right=right)
    np.savez(tmp_path / "right.npz", right=right)
    for inputs in (["both.npz"], ["left=left.npy", "right=right.npz"]):
        arguments = [argument for value in inputs for argument in ("--input", value)]
        data = json.loads(good("run", add, *arguments, "--json", "--output", "all.npz", cwd=tmp_path))
        assert data["outputs"]["total"]["values"] == [1, 2, 3]
        assert np.load(tmp_path / "all.npz")["total"].tolist() == [1, 2, 3]


def test_run_with_wrong_inputs(conv: Path, add: Path, photo: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "double.npy", np.zeros((1, 3, 8, 8)))
    np.save(tmp_path / "objects.npy", np.array([None]), allow_pickle=True)
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "x.txt").write_text("1 2 3")
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY")
    assert "float64; float32 is wanted" in failed("run", conv, "--input", f"x={tmp_path / 'double.npy'}")
    assert "no NumPy file" in failed("run", conv, "--input", f"x={tmp_path / 'objects.npy'}")
    assert "no NumPy file" in failed("run", conv, "--input", f"x={tmp_path / 'broken.npy'}")
    assert "no picture that can be read" in failed("run", conv, "--input", f"x={tmp_path / 'text.png'}")
    assert "of no kind" in failed("run", conv, "--input", f"x={tmp_path / 'x.txt'}")
    assert "missing.png" in failed("run", conv, "--input", "x=missing.png")
    assert "missing.npy" in failed("run", conv, "--input", "x=missing.npy")
    assert "no input named 'image'" in failed("run", conv, "--input", f"image={photo}")
    assert "which input" in failed("run", add, "--input", photo)
    assert "is no picture" in failed("run", add, "--input", f"left={photo}")
    assert "no value was given" in failed("run", add, "--input", f"left={tmp_path / 'double.npy'}")
    assert "--mean has 2 numbers" in failed("run", conv, "--input", f"x={photo}", "--mean", "1,2")
    assert "--std contains 0" in failed("run", conv, "--input", f"x={photo}", "--std", "0")
    assert "no list of numbers" in failed("run", conv, "--input", f"x={photo}", "--mean", "a")
    assert "--size" in failed("run", conv, "--input", f"x={photo}", "--size", "16")
    assert "channels elsewhere" in failed("run", conv, "--input", f"x={photo}", "--nhwc")
    (tmp_path / "other.npy").write_bytes(b"not an array")
    assert "unsafe" not in failed("run", conv, "--input", f"x={tmp_path / 'other.npy'}")


def test_options_for_pictures_want_a_picture(conv: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((1, 3, 8, 8), np.float32))
    good("run", conv, "--input", f"x={tmp_path / 'x.npy'}", "--rgb")
    for options in (("--size", "4x4"), ("--mean", "1"), ("--std", "2"), ("--bgr",), ("--nchw",)):
        assert f"but {options[0]} was given" in failed("run", conv, "--input", f"x={tmp_path / 'x.npy'}", *options)


def test_run_cannot_write(conv: Path, photo: Path, tmp_path: Path) -> None:
    assert "cannot be written" in failed("run", conv, "--input", photo, "--output", f"y={photo / 'y.npy'}")
    assert "does not end in" in failed("run", conv, "--input", photo, "--output", f"y={tmp_path / 'y.txt'}")
    assert "no output named" in failed("run", conv, "--input", photo, "--output", f"z={tmp_path / 'z.npy'}")
    assert "mkdir" in failed("run", conv, "--input", photo, "--output", f"y={tmp_path / 'none' / 'y.npy'}")


def test_bench(conv: Path, add: Path) -> None:
    data = json.loads(good("bench", conv, "--shape", "x=1,3,16,16", "--rounds", 3, "--warmup", 1, "--threads", 1, "--json"))
    assert (data["rounds"], data["threads"], data["shapes"]) == (3, 1, {"x": [1, 3, 16, 16]})
    assert 0 < data["min_ms"] <= data["median_ms"] <= data["p90_ms"]
    assert "median ms" in good("bench", add, "--shape", "left=4", "--shape", "right=4", "--rounds", 1)
    assert "--shape x=" in failed("bench", conv)
    assert "no shape" in failed("bench", conv, "--shape", "x=1,3,a")
    assert "no input named 'q'" in failed("bench", conv, "--shape", "q=1")
    assert run("bench", conv, "--rounds", 0).returncode == 2
    assert run("bench", conv, "--threads", -1).returncode == 2


def test_bench_takes_sizes_from_other_inputs(tmp_path: Path) -> None:
    nodes = [helper.make_node("Mul", ["ids", "mask"], ["m"]), helper.make_node("MatMul", ["m", "w"], ["y"])]
    inputs = [("ids", ["B", "L"]), ("mask", ["B", "L"]), ("w", ["L", "K"])]
    proto = make_onnx(nodes, [(name, TensorProto.FLOAT, dims) for name, dims in inputs], [("y", TensorProto.FLOAT, None)])
    jitney.convert(proto, tmp_path / "net.jny")
    model = tmp_path / "net.jny"
    data = json.loads(good("bench", model, "--shape", "ids=1,40", "--shape", "w=40,2", "--rounds", 1, "--json"))
    assert data["shapes"] == {"ids": [1, 40], "mask": [1, 40], "w": [40, 2]}
    np.save(tmp_path / "ids.npy", np.ones((2, 3), np.float32))
    data = json.loads(good("bench", model, "-i", f"ids={tmp_path / 'ids.npy'}", "--shape", "w=3,5", "--rounds", 1, "--json"))
    assert data["shapes"] == {"ids": [2, 3], "mask": [2, 3], "w": [3, 5]}
    message = failed("bench", model)
    assert "'ids: float32 [B, L]', 'mask: float32 [B, L]', 'w: float32 [L, K]'" in message
    assert "--shape ids=B,L --shape w=L,K with" in message
    assert "an input has open sizes: 'w: float32 [L, K]'" in failed("bench", model, "--shape", "ids=1,40")


def test_info_says_that_a_plan_ends_early(tmp_path: Path) -> None:
    branches = {}
    for name, op in (("then_branch", "Relu"), ("else_branch", "Neg")):
        out = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        branches[name] = helper.make_graph([helper.make_node(op, ["x"], [name])], name, [], [out])
    node = helper.make_node("If", ["c"], ["y"], name="choose", **branches)
    inputs = [("c", TensorProto.BOOL, []), ("x", TensorProto.FLOAT, [2])]
    jitney.convert(make_onnx([node], inputs, [("y", TensorProto.FLOAT, [2])]), tmp_path / "net.jny")
    assert "the plan ends at if node 'choose'" in good("info", tmp_path / "net.jny")
    assert jitney.Session(tmp_path / "net.jny").plan_report().memory.ends_at == "if node 'choose'"


def test_verify(conv: Path, linear: Path, tmp_path: Path) -> None:
    assert "verified" in good("verify", conv, conv.with_suffix(".onnx"))
    assert json.loads(good("verify", conv, conv.with_suffix(".onnx"), "--json"))["outcome"] == "verified"
    damaged = tmp_path / "damaged.jny"
    data = bytearray(conv.read_bytes())
    data[-1] ^= 0x40
    damaged.write_bytes(data)
    failed("verify", damaged, conv.with_suffix(".onnx"))
    assert "checksum" in failed("info", damaged)


def test_verify_with_both_files_swapped(conv: Path) -> None:
    source = conv.with_suffix(".onnx")
    assert f"jitney verify {conv} {source}" in failed("verify", source, conv)


def test_verify_of_another_model(conv: Path, folder: Path, tmp_path: Path) -> None:
    import onnx

    other = onnx.load(conv.with_suffix(".onnx"))
    weights = onnx.numpy_helper.to_array(other.graph.initializer[0])
    other.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weights * 2, other.graph.initializer[0].name))
    onnx.save(other, tmp_path / "other.onnx")
    result = run("verify", conv, tmp_path / "other.onnx")
    assert result.returncode == 1
    assert "mismatch" in result.stdout


def test_output_goes_into_a_pipe_that_closes(conv: Path) -> None:
    command = f"{sys.executable} -m jitney.cli info {conv} --json --plan | head -c 1"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert result.stdout == "{"
    assert result.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_output_that_cannot_be_written(conv: Path, options: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "jitney.cli", "info", str(conv), *options]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode != 0
    assert "No space left" in result.stderr
    assert "Traceback" not in result.stderr


def test_sizes_beyond_memory(conv: Path) -> None:
    source, target = conv.with_suffix(".onnx"), conv.with_suffix(".large")
    impossible, large = (f"x=1,3,{size},{size}" for size in ("2000000000", "2000000"))
    assert "any memory" in failed("bench", conv, "--shape", impossible)
    assert "any memory" in failed("convert", source, "-o", target, "--shape", impossible)
    assert not target.exists()
    failed("bench", conv, "--shape", large)
    assert "not verifiable: input 'x' has 12000000000000 elements" in good("convert", source, "-o", target, "--shape", large)


def test_convert_of_an_empty_name() -> None:
    failed("convert", "")


def test_progress_only_on_a_terminal(conv: Path, tmp_path: Path) -> None:
    result = run("convert", conv.with_suffix(".onnx"), "-o", tmp_path / "net.jny")
    assert result.stderr == ""


def test_long_text_is_not_folded_in_a_pipe(conv: Path) -> None:
    lines = good("info", conv, "--shape", "x=1,3,32,32", "--plan").splitlines()
    assert all("…" not in line for line in lines if "conv" in line)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_colours_do_not_reach_a_pipe(conv: Path) -> None:
    assert "\x1b" not in good("info", conv)


def test_letters_that_the_output_cannot_write(conv: Path) -> None:
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = run("info", conv, "--plan", "--shape", "x=1,3,32,32", env=ascii_only)
    assert result.returncode == 0
    assert "\\xd7" in result.stdout
    assert json.loads(run("info", conv, "--plan", "--shape", "x=1,3,32,32", "--json", env=ascii_only).stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux only")
def test_names_that_are_no_unicode(conv: Path, tmp_path: Path) -> None:
    source = tmp_path / os.fsdecode(b"m\xff.onnx")
    source.write_bytes(conv.with_suffix(".onnx").read_bytes())
    strict = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    for command in (
        ["convert", source],
        ["info", source.with_suffix(".jny")],
        ["profile", source.with_suffix(".jny"), "--shape", "x=1,3,8,8", "--runs", "1", "--html", "p.html", "--trace", "t.json"],
    ):
        result = run(*command, cwd=tmp_path, env=strict)
        assert result.returncode == 0, result.stderr
    assert json.loads((tmp_path / "t.json").read_text("utf-8"))
    assert "m?.jny" in (tmp_path / "p.html").read_text("utf-8")
