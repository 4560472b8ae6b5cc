"""Runs packages that were written for ONNX Runtime, unmodified, on it and on jitney.ort, and compares what they answer.

    python tests/packages/check.py [name …]

They are installed, with ONNX Runtime, into a virtual environment of their own under build/.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jitney

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
sys.path.insert(0, str(REPOSITORY / "models"))

from fetch import fetch  # noqa: E402


@dataclass(frozen=True)
class Program:
    """A program, what it is given, and how far numbers may differ, relative to those above 1."""

    script: str
    files: tuple[str, ...] = ()
    tolerance: float = 1e-5


PROGRAMS = {
    "basic-pitch": Program("basic_pitch_notes.py"),
    # The model takes a variance as the difference of two sums of 512 numbers, which ONNX Runtime adds one by one.
    "magika": Program("magika_identify.py", tolerance=2e-3),
    "mtcnn": Program("mtcnn_faces.py", ("astronaut",)),
    "nudenet": Program("nudenet_detect.py", ("astronaut",)),
    "rapidocr": Program("rapidocr_read.py", ("page",)),
    "silero-vad": Program("silero_speech.py", ("speech",)),
}


def environment(folder: Path) -> Path:
    """The interpreter of the packages' environment, made anew if what it must hold has changed."""
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    support, packages = HERE / "support.txt", HERE / "requirements.txt"
    wanted = hashlib.sha256(support.read_bytes() + packages.read_bytes() + sys.version.encode()).hexdigest()
    stamp = folder / "installed"
    if stamp.is_file() and stamp.read_text() == wanted:
        return python
    print(f"installing the packages under test into {folder}", file=sys.stderr)
    venv.create(folder, clear=True, with_pip=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "-r", str(support)], check=True)
    subprocess.run([*install, "--no-deps", "--no-build-isolation", "-r", str(packages)], check=True)
    stamp.write_text(wanted)
    return python


def answer(command: list[str], environment: dict[str, str]) -> Any:
    """What the program prints last. Raises RuntimeError, with what it says, if it fails."""
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"exit status {result.returncode}\n{result.stderr}")
    return json.loads(result.stdout.strip().splitlines()[-1])


def difference(theirs: Any, ours: Any, place: str = "answer") -> float:
    """The largest difference of two numbers; raises ValueError if the answers differ otherwise."""
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        return max((difference(a, b, f"{place}[{index}]") for index, (a, b) in enumerate(zip(theirs, ours))), default=0.0)
    if isinstance(theirs, dict) and isinstance(ours, dict) and theirs.keys() == ours.keys():
        return max((difference(theirs[key], ours[key], f"{place}.{key}") for key in theirs), default=0.0)
    if isinstance(theirs, float) and isinstance(ours, float):
        return abs(theirs - ours) / max(1.0, abs(theirs))
    if theirs != ours:
        raise ValueError(f"{place}: {theirs!r} with ONNX Runtime, {ours!r} with Jitney")
    return 0.0


def check(name: str, python: Path, path: str, cache: Path) -> str:
    """A line that says how well the answers agree. Raises if they do not, or are empty."""
    program = PROGRAMS[name]
    files = [str(file) for file in fetch(program.files).values()]
    script = [str(HERE / "programs" / program.script), *files]
    inherited = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    start = time.perf_counter()
    theirs = answer([str(python), *script], inherited)
    middle = time.perf_counter()
    ours = answer([str(python), "-m", "jitney.ort", *script], inherited | {"PYTHONPATH": path, "JITNEY_CACHE": str(cache)})
    end = time.perf_counter()
    if not list(cache.glob("*.jny")):
        raise ValueError("nothing was converted: it did not run on Jitney")
    if not theirs:
        raise ValueError("the answer is empty")
    worst = difference(theirs, ours)
    if not worst <= program.tolerance:
        raise ValueError(f"numbers differ by {worst:.2g}, more than {program.tolerance:g}")
    return f"same answer, numbers within {worst:.1e} ({middle - start:.1f} s with ONNX Runtime, {end - middle:.1f} s with Jitney)"


def main() -> int:
    """Checks the packages that the command line names; all if it names none."""
    parser = argparse.ArgumentParser(description="Compare packages' answers on ONNX Runtime and on jitney.ort.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(PROGRAMS)}")
    parser.add_argument("--venv", type=Path, default=REPOSITORY / "build" / "packages", help="where they are installed")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in PROGRAMS]:
        parser.error(f"unknown: {', '.join(unknown)}; there are: {', '.join(PROGRAMS)}")
    python = environment(arguments.venv)
    failed = []
    for name in arguments.names or PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            # Jitney alone joins them, not what is installed beside it.
            (Path(folder) / "path").mkdir()
            (Path(folder) / "path" / "jitney").symlink_to(Path(jitney.__file__).parent, target_is_directory=True)
            try:
                print(f"{name:12} {check(name, python, str(Path(folder) / 'path'), Path(folder) / 'cache')}", flush=True)
            except (RuntimeError, ValueError) as error:
                failed.append(name)
                print(f"{name:12} FAILED: {error}", flush=True)
    if failed:
        print(f"these packages do not answer as with ONNX Runtime: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
