"""Writes a profile in the form that ONNX Runtime's have: events of Chrome's trace format."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import jitney

from .providers import CPU


def write_profile(prefix: str, sessions: Iterable[jitney.Session], start_ns: int) -> str:
    """One event for the session and one for each node, with the sum of its runs' times; returns the file's path."""
    path = Path(f"{prefix}_{datetime.now().strftime('%Y-%m-%d_%H-%M-%S_%f')[:-3]}.json")
    path.write_text(json.dumps(list(_events(sessions, start_ns))), encoding="utf-8")
    return os.fspath(path)


def _events(sessions: Iterable[jitney.Session], start_ns: int) -> Iterable[dict[str, Any]]:
    yield _event("Session", "session", 0, (time.perf_counter_ns() - start_ns) // 1000, {})
    at = 0
    for session in sessions:
        for step in session.plan_report().steps:
            duration = step.nanoseconds // 1000
            details = {"op_name": step.op, "provider": CPU, "kernel": step.kernel, "runs": step.runs}
            yield _event("Node", f"{step.node}_kernel_time", at, duration, details)
            at += duration


def _event(category: str, name: str, at: int, duration: int, details: dict[str, Any]) -> dict[str, Any]:
    place = {"pid": os.getpid(), "tid": threading.get_native_id()}
    return {"cat": category, **place, "dur": duration, "ts": at, "ph": "X", "name": name, "args": details}
