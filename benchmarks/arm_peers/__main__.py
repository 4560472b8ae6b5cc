"""Counts the instructions, loads and stores of an inference on 64-bit ARM: Jitney's beside ncnn's for the same graph.

Both run under qemu-user on one thread in float32, counted by the same plugin; a figure is the difference between a process with
several inferences and one with a single one. Jitney is counted as it comes, where it prefers speed to memory, and with its
kernels for in-order cores. docs/performance.md says how to get the root file system and the packages. The table is Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from counts.emulated import build_plugin
from counts.tools import CountingError, output
from zoo import ZOO

import jitney

Array = npt.NDArray[np.float32]
_HERE = Path(__file__).resolve().parent
_LIBRARIES = "/usr/aarch64-linux-gnu"
# How Jitney is run: for which kind of core, and what it prefers (SessionOptions::prefer).
_JITNEY = {
    "jitney": ("out-of-order", "memory"),
    "jitney, prefer=speed": ("out-of-order", "speed"),
    "jitney, in-order kernels": ("in-order", "memory"),
}


@dataclass(frozen=True)
class Count:
    """What one inference takes, and its result."""

    instructions: float
    loads_and_stores: float
    result: Array


@dataclass(frozen=True)
class Case:
    """A network in both runtimes' files, and an input."""

    name: str
    input_name: str
    input: Path
    jny: Path
    ncnn: Path


def main() -> int:
    parser = argparse.ArgumentParser(prog="arm_peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["mobilenet_v2", "resnet18"], help=f"some of {', '.join(ZOO)}")
    parser.add_argument("--program", type=Path, required=True, help="tests/arm's run_model, built for ARM")
    parser.add_argument("--root", type=Path, required=True, help="a Debian for ARM that has Python")
    parser.add_argument("--packages", type=Path, required=True, help="a folder with numpy and ncnn for ARM")
    parser.add_argument("--pnnx", default="pnnx", help="the converter of ncnn")
    parser.add_argument("--work", type=Path, required=True, help="where converted models are kept")
    parser.add_argument("--cpus", default="cortex-a53,cortex-a76")
    parser.add_argument("--runs", type=int, default=3, help="inferences beyond the first")
    arguments = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            plugin = build_plugin(folder)
            print("| model | CPU | runtime | instructions, M | to ncnn's | loads and stores, M | to ncnn's | results differ by |")
            print("|---|---|---|--:|--:|--:|--:|--:|", flush=True)
            for model in arguments.models:
                case = _prepare(model, arguments.work, arguments.pnnx)
                for cpu in arguments.cpus.split(","):
                    _compare(case, cpu, arguments, plugin, folder)
    except CountingError as error:
        print(f"arm_peers: {error}", file=sys.stderr)
        return 2
    return 0


def _prepare(name: str, folder: Path, pnnx: str) -> Case:
    """Draws the input and converts, unless that has been done."""
    folder.mkdir(parents=True, exist_ok=True)
    base = folder / name.replace("_", "")  # pnnx alters other names
    model = base.with_suffix(".onnx")
    if not model.exists():
        onnx.save(ZOO[name](), str(model))
    value = onnx.load(str(model)).graph.input[0]
    shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    case = Case(name, value.name, base.with_suffix(".npy"), base.with_suffix(".jny"), base)
    np.save(case.input, np.random.default_rng(7).standard_normal(shape).astype(np.float32))
    jitney.convert(model, case.jny, verify=False)
    if not Path(f"{case.ncnn}.ncnn.bin").exists():
        output([pnnx, str(model), f"inputshape=[{','.join(map(str, shape))}]", "fp16=0"])
    return case


def _compare(case: Case, cpu: str, arguments: argparse.Namespace, plugin: Path, folder: Path) -> None:
    """Prints a row per runtime."""

    def run_ncnn(emulator: list[str], runs: int) -> Array:
        target = folder / "ncnn.npy"
        python = [*emulator, "-L", str(arguments.root), "-E", f"PYTHONPATH={arguments.packages}", "-E", "PYTHONHASHSEED=0"]
        script = [str(arguments.root / "usr/bin/python3.11"), str(_HERE / "ncnn_run.py")]
        output([*python, *script, str(case.ncnn), str(case.input), str(runs), str(target)])
        result: Array = np.load(target)
        return result

    def run_jitney(core: str, prefer: str) -> Callable[[list[str], int], Array]:
        def run(emulator: list[str], runs: int) -> Array:
            program = ["-E", f"JITNEY_CORE={core}", str(arguments.program), str(case.jny), "1", prefer]
            command = [*emulator, "-L", _LIBRARIES, *program]
            done = subprocess.run(command, input=_feed(case) * runs, capture_output=True, check=False)
            if done.returncode != 0:
                raise CountingError(f"{' '.join(command)} failed: {done.stderr.decode(errors='replace')[-500:]}")
            return _last_result(done.stdout)

        return run

    peers: dict[str, Callable[[list[str], int], Array]] = {
        "ncnn": run_ncnn,
        **{name: run_jitney(core, prefer) for name, (core, prefer) in _JITNEY.items()},
    }
    counts = {name: _count(run, cpu, arguments.runs, plugin, folder) for name, run in peers.items()}
    ncnn = counts["ncnn"]
    for name, count in counts.items():
        error = float(np.abs(count.result - ncnn.result.reshape(count.result.shape)).max() / np.abs(ncnn.result).max())
        print(
            f"| {case.name} | {cpu} | {name} | {count.instructions / 1e6:.2f} | {count.instructions / ncnn.instructions:.3f} "
            f"| {count.loads_and_stores / 1e6:.2f} | {count.loads_and_stores / ncnn.loads_and_stores:.3f} | {error:.1e} |",
            flush=True,
        )


def _count(run: Callable[[list[str], int], Array], cpu: str, runs: int, plugin: Path, folder: Path) -> Count:
    totals: list[tuple[int, int]] = []
    for number in (1, 1 + runs):
        report = folder / "count.json"
        result = run(["qemu-aarch64", "-cpu", cpu, "-plugin", f"{plugin},out={report}"], number)
        total = json.loads(report.read_text(encoding="utf-8"))["total"]
        totals.append((total["instructions"], total["loads"] + total["stores"]))
    (first, first_memory), (last, last_memory) = totals
    return Count((last - first) / runs, (last_memory - first_memory) / runs, result)


def _feed(case: Case) -> bytes:
    """As tests/arm/run_model reads it."""
    x: Array = np.load(case.input)
    header = f"1\n{case.input_name} {onnx.TensorProto.FLOAT} {' '.join(map(str, x.shape))}\n"
    return header.encode() + x.tobytes()


def _last_result(data: bytes) -> Array:
    """The only output of the last inference."""
    line, _, rest = data.partition(b"\n")
    count = int(np.prod([int(dim) for dim in line.split()[2:]]))
    return np.frombuffer(rest if len(rest) == 4 * count else data[-4 * count :], np.float32)


if __name__ == "__main__":
    os.environ.pop("JITNEY_ISA", None)
    sys.exit(main())
