"""Checks that run in a child process made by fork()."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

_SECONDS = 20


def holds_in_child(check: Callable[[], bool]) -> bool:
    """Whether the check, run in a child, returns True in time: raising, crashing and hanging count as False."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(_SECONDS)
            code = 0 if check() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
