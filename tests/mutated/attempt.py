"""Converts files one by one in a process of its own, and says what came of each, how long it took and how much memory."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import resource
import select
import signal
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 10.0
"""What a file may cost; a hang is ended at twice that. Of these, what runs the ONNX model for comparison gets a part."""
REFERENCE_SECONDS = 4.0
BYTES = 1 << 30


@dataclass(frozen=True)
class Outcome:
    """right | not verifiable | error | mismatch | untyped | crash | hang | large | litter."""

    word: str
    detail: str
    seconds: float
    bytes: int

    @property
    def good(self) -> bool:
        return self.word in ("right", "not verifiable", "error")


class Converter:
    """The process; it is started again when it had to be killed."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._child = 0
        self._seconds = seconds

    def attempt(self, data: bytes) -> Outcome:
        """Writes the file, with some weights beside it, and converts it with verification."""
        with tempfile.TemporaryDirectory(prefix="mutated") as name:
            folder = Path(name)
            (folder / "model.onnx").write_bytes(data)
            (folder / "weights.bin").write_bytes(bytes(8192))
            before = {path.name for path in folder.iterdir()}
            word, detail, seconds, size = self._ask(name)
            left = sorted({path.name for path in folder.iterdir()} - before)
            succeeded = word in ("right", "not verifiable")
            if left != (["model.jny"] if succeeded else []) and word not in ("crash", "hang"):
                word, detail = "litter", f"{word} left {left}: {detail}"
        if size > BYTES and word not in ("crash", "hang"):
            word = "large"
        elif seconds > self._seconds:
            word = "hang"
        return Outcome(word, detail, seconds, size)

    def close(self) -> None:
        if self._child:
            with contextlib.suppress(OSError):
                os.kill(self._child, signal.SIGKILL)
            os.waitpid(self._child, 0)
            os.close(self._requests)
            os.close(self._answers)
            self._child = 0

    def _ask(self, folder: str) -> tuple[str, str, float, int]:
        if not self._child:
            self._start()
        processes = [self._child, *_children(self._child)]
        before = sum(map(_reset, processes))
        start = time.monotonic()
        os.write(self._requests, folder.encode() + b"\n")
        ready, _, _ = select.select([self._answers], [], [], 2 * self._seconds)
        seconds = time.monotonic() - start
        size = sum(_peak(each) for each in {*processes, *_children(self._child)}) - before
        answer = os.read(self._answers, 1 << 16) if ready else b""
        if answer:
            word, detail = pickle.loads(answer)
            return word, detail, seconds, size
        self.close()
        return ("crash", "the process died", seconds, size) if ready else ("hang", "killed", seconds, size)

    def _start(self) -> None:
        theirs, self._requests = os.pipe()
        self._answers, ours = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(self._requests)
            os.close(self._answers)
            _serve(theirs, ours)
        os.close(theirs)
        os.close(ours)


def _children(process: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def _reset(process: int) -> int:
    """Starts the count of the most memory anew; returns what the process has now."""
    with contextlib.suppress(OSError):
        Path(f"/proc/{process}/clear_refs").write_text("5")
    return _peak(process)


def _peak(process: int) -> int:
    with contextlib.suppress(OSError, StopIteration):
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024
    return 0


def _serve(requests: int, answers: int) -> None:
    """In the child: does not return."""
    faulthandler.disable()
    warnings.simplefilter("ignore")
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(requests, "rb") as lines:
        for line in lines:
            word, detail = _convert(Path(line.decode().rstrip("\n")))
            os.write(answers, pickle.dumps((word, detail[:20000])))
    os._exit(0)


def _convert(folder: Path) -> tuple[str, str]:
    from jitney import convert
    from jitney.errors import Error, InternalError, Mismatch

    options: dict[str, Any] = {"verify_seconds": REFERENCE_SECONDS}
    try:
        report = convert(folder / "model.onnx", folder / "model.jny", **options)
    except Mismatch as error:
        return ("error" if _is_no_fault(folder, str(error)) else "mismatch"), str(error)
    except InternalError as error:
        return "untyped", f"internal: {error}"
    except Error as error:
        return "error", f"{type(error).__name__}: {error}"
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace is not None else ""
        return "untyped", f"{type(error).__name__}: {error} at {place}"
    outcome = report.verification.outcome
    return "right" if outcome == "verified" else outcome, report.verification.reason


def _is_no_fault(folder: Path, text: str) -> bool:
    """Whether the ONNX model is no model at all, or the reference is onnx's evaluator, which stacks what loops gather wrongly."""
    import onnx

    try:
        onnx.checker.check_model(str(folder / "model.onnx"), full_check=True)
    except Exception:  # whatever it does not like
        return True
    return "evaluator" in text
