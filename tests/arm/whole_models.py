"""Runs the catalogue's models on ARM CPUs under qemu and compares them with ONNX Runtime on this machine: PROGRAM CPU…"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime
from onnx import helper

import jitney

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "models"))
from catalogue import MODELS, Entry
from feeds import draw
from fetch import fetch

Array = npt.NDArray[np.generic]
QEMU = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-cpu"]


def main() -> int:
    program, cpus = sys.argv[1], sys.argv[2:]
    paths = fetch([entry.name for entry in MODELS])
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for entry in MODELS:
            target = Path(folder) / f"{entry.name}.jny"
            jitney.convert(paths[entry.name], target, verify=False)
            feeds = _feeds(entry)
            wanted = _reference(paths[entry.name], feeds)
            for index, cpu in enumerate(cpus):
                # Every shape on the last CPU, which has every extension; the smallest on the others.
                some = feeds if index == len(cpus) - 1 else feeds[:1]
                start = time.monotonic()
                problem = _problem([*QEMU, cpu, program, str(target), "2"], some, wanted)
                shapes = f"{len(some)} shape{'s' * (len(some) > 1)}, {time.monotonic() - start:.1f} s"
                print(f"{entry.name} on {cpu} ({shapes}): {problem or 'agrees with ONNX Runtime'}", flush=True)
                passed, failed = (passed, failed + 1) if problem else (passed + 1, failed)
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


def _feeds(entry: Entry) -> list[dict[str, Array]]:
    """One feed for each of the entry's shapes, smallest first; that one comes again last: no plan may spoil another."""
    shapes = sorted(entry.sizes, key=lambda sizes: sum(int(np.prod(shape)) for shape in sizes.values()))
    feeds = [draw(entry, sizes, seed) for seed, sizes in enumerate(shapes)]
    return [*feeds, feeds[0]]


def _reference(path: Path, feeds: list[dict[str, Array]]) -> list[dict[str, Array]]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return [dict(zip(names, session.run(names, feed), strict=True)) for feed in feeds]


def _problem(command: list[str], feeds: list[dict[str, Array]], wanted: list[dict[str, Array]]) -> str:
    """What is wrong with the program's outputs; empty if nothing."""
    result = subprocess.run(command, input=b"".join(map(_encode, feeds)), capture_output=True, check=False)
    if result.returncode != 0:
        return f"exit status {result.returncode}: {result.stderr.decode(errors='replace')}"
    outputs = _decode(result.stdout)
    for number, arrays in enumerate(wanted[: len(feeds)]):
        for _ in arrays:
            name, actual = next(outputs)
            if problem := _difference(actual, arrays[name]):
                return f"feed {number}, {name}: {problem}"
    return "" if next(outputs, None) is None else "more outputs than expected"


def _difference(actual: Array, wanted: Array) -> str:
    if actual.shape != wanted.shape or actual.dtype != wanted.dtype:
        return f"is {actual.dtype} {actual.shape}, wanted {wanted.dtype} {wanted.shape}"
    error = float(np.abs(actual.astype(np.float64) - wanted).max(initial=0))
    allowed = max(1e-6, (2e-2 if wanted.dtype == np.float16 else 2e-4) * float(np.abs(wanted).max(initial=0)))
    return "" if error <= allowed else f"differs by {error}, allowed is {allowed}"


def _encode(feed: dict[str, Array]) -> bytes:
    parts = [f"{len(feed)}\n".encode()]
    for name, array in feed.items():
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        parts += [" ".join(map(str, [name, dtype, *array.shape])).encode() + b"\n", array.tobytes()]
    return b"".join(parts)


def _decode(data: bytes) -> Iterator[tuple[str, Array]]:
    stream = io.BytesIO(data)
    while line := stream.readline():
        name, dtype, *dims = line.decode().split()
        element = np.dtype(helper.tensor_dtype_to_np_dtype(int(dtype)))
        shape = tuple(map(int, dims))
        count = int(np.prod(shape))
        yield name, np.frombuffer(stream.read(count * element.itemsize), element).reshape(shape)


if __name__ == "__main__":
    sys.exit(main())
