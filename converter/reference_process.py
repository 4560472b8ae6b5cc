"""Talks to the process in which the ONNX model runs: it may crash, hang or run out of time without harm to this one."""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any


class Crashed(Exception):
    """The process has died; the text says how."""


class BudgetExceeded(Exception):
    """The model needs more time than there is; the process was killed."""


class Refused(Exception):
    """The process says that it cannot do what it was asked for; the text is its reason."""


class ReferenceProcess:
    """One process. It is kept for the next model when this one is done, since starting it takes half a second."""

    def __init__(self) -> None:
        command = [sys.executable, os.fspath(Path(__file__).with_name("reference_worker.py"))]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        self._send("path", sys.path)

    def call(self, deadline: float, *request: Any) -> Any:
        """The answer to a request. `deadline` is a time of time.monotonic()."""
        rest = deadline - time.monotonic()
        if rest <= 0:
            self.kill()
            raise BudgetExceeded
        expired = threading.Event()
        timer = threading.Timer(rest, self._expire, [expired])
        timer.daemon = True
        timer.start()
        try:
            self._send(*request)
            outcome, result = self._receive()
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:  # ValueError: it was killed before
            if expired.is_set():
                self.kill()
                raise BudgetExceeded from error
            raise Crashed(self._cause()) from error
        finally:
            timer.cancel()
        if outcome != "ok":
            raise Refused(result)
        return result

    def _expire(self, expired: threading.Event) -> None:
        expired.set()
        self._process.kill()

    def _send(self, *request: Any) -> None:
        assert self._process.stdin is not None
        pickle.dump(request, self._process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
        self._process.stdin.flush()

    def _receive(self) -> Any:
        assert self._process.stdout is not None
        return pickle.load(self._process.stdout)

    def _cause(self) -> str:
        self.kill()
        code = self._process.returncode
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Ends the process; harmless if it has ended."""
        if self.alive:
            self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what was still to be written has no reader
                if pipe is not None:
                    pipe.close()
        self._process.wait()


_idle: list[ReferenceProcess] = []
_lock = threading.Lock()


def borrow() -> ReferenceProcess:
    """The idle process, or a new one."""
    with _lock:
        while _idle:
            process = _idle.pop()
            if process.alive:
                return process
            process.kill()
    return ReferenceProcess()


def give_back(process: ReferenceProcess) -> None:
    """Keeps the process for the next caller; one is enough."""
    try:
        process.call(time.monotonic() + 1, "forget")
    except (BudgetExceeded, Crashed, Refused):
        process.kill()
        return
    with _lock:
        spare = _idle.pop() if _idle else None
        _idle.append(process)
    if spare is not None:
        spare.kill()


def _end_idle() -> None:
    while _idle:
        _idle.pop().kill()


def _forget_idle() -> None:
    """In a forked child: the process belongs to the parent."""
    _idle.clear()


atexit.register(_end_idle)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_idle)
