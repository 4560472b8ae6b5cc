"""The program of the process in which the ONNX model runs: reads requests from stdin and answers on stdout, both pickled.

It is started as a script, so that it imports no more than it needs, and it ends when its stdin does, or when nobody has asked
it anything for a while. Requests: ("load", runner, path or bytes, most bytes to allocate, most threads), ("run", feeds),
("forget",). The first is ("path", sys.path), which gets no answer.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

_IDLE_SECONDS = 60.0
_SHIM = os.path.join("jitney", "ort", "shim")  # noqa: PTH118


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answers until the requests end: ("ok", result) or ("error", text)."""
    run: Callable[[Any], Any] | None = None
    clock = _Clock()
    while True:
        try:
            verb, *operands = pickle.load(requests)
        except EOFError:
            return
        if verb == "path":
            # Without the folder in which jitney.ort poses as onnxruntime: the model would be compared with itself.
            sys.path[:] = [folder for folder in operands[0] if not str(folder).endswith(_SHIM)]
            continue
        with clock.busy():
            try:
                result: Any = None
                if verb == "load":
                    run = None
                    _limit_memory(operands[2])
                    run, result = _RUNNERS[operands[0]](operands[1], operands[3])
                elif verb == "run" and run is not None:
                    result = run(operands[0])
                elif verb == "forget":
                    run = None
                answer = ("ok", result)
            except Exception as error:
                answer = ("error", f"{error}".strip() or type(error).__name__)
            pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
            answers.flush()


def _limit_memory(limit: int) -> None:
    """Allocations of more than this fail from here on: a model that says so could ask for all that the computer has."""
    try:
        import resource
    except ImportError:  # there is none on Windows
        return
    with contextlib.suppress(OSError, ValueError, IndexError):  # where the system counts otherwise, there is no limit
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = used + limit
        resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _onnx_runtime(model: str | bytes, threads: int) -> tuple[Callable[[Any], Any], str]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = min(os.cpu_count() or 1, threads)
    options.enable_cpu_mem_arena = False  # it takes memory in steps of twice the last
    # Its layout-changing optimisations are not what the model says.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds), f"ONNX Runtime {onnxruntime.__version__}"


def _evaluator(model: str | bytes, threads: int) -> tuple[Callable[[Any], Any], str]:
    import numpy as np
    import onnx
    from onnx.reference import ReferenceEvaluator

    from jitney.converter.corrected_ops import CORRECTED, name_results

    proto = onnx.load(model) if isinstance(model, str) else onnx.load_model_from_string(model)
    name_results(proto.graph)
    evaluator = ReferenceEvaluator(proto, new_ops=[*CORRECTED])

    def run(feeds: Any) -> Any:
        # Overflow and division by zero give what IEEE arithmetic gives, here as there.
        with np.errstate(all="ignore"):
            return [*evaluator.run(None, feeds)]

    return run, f"onnx {onnx.__version__}'s evaluator"


_RUNNERS: dict[str, Callable[[str | bytes, int], tuple[Callable[[Any], Any], str]]] = {
    "onnxruntime": _onnx_runtime,
    "evaluator": _evaluator,
}


class _Clock:
    """Ends the process when it has been idle for too long."""

    def __init__(self) -> None:
        self._idle_since: float | None = time.monotonic()
        threading.Thread(target=self._watch, daemon=True).start()

    def busy(self) -> _Clock:
        return self

    def __enter__(self) -> None:
        self._idle_since = None

    def __exit__(self, *_: object) -> None:
        self._idle_since = time.monotonic()

    def _watch(self) -> None:
        while True:
            time.sleep(_IDLE_SECONDS / 4)
            since = self._idle_since
            if since is not None and time.monotonic() - since > _IDLE_SECONDS:
                os._exit(0)


def main() -> None:
    """Takes the pipes; whatever else writes to stdout goes to stderr."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    del sys.path[0]  # the script's folder, whose modules would hide others of the same names
    main()
