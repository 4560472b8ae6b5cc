"""Events in the JSON that chrome://tracing and Perfetto open."""

from __future__ import annotations

import json
from typing import Any

from jitney.reports import Profile


def to_chrome_trace(profile: Profile, model: str) -> str:
    """One track per calling thread, all runs; steps of a loop's body lie below the loop. Working threads have more tracks."""
    first = min((event.start for event in profile.events), default=0)
    events: list[dict[str, Any]] = [{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": f"jitney {model}"}}]
    events += [
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": thread, "args": {"name": f"caller {thread}"}}
        for thread in sorted({event.thread for event in profile.events})
    ]
    for event in sorted(profile.events, key=lambda event: (event.thread, event.start, -event.end)):
        entry: dict[str, Any] = {
            "name": "run",
            "cat": "run",
            "ph": "X",
            "pid": 1,
            "tid": event.thread,
            "ts": (event.start - first) / 1e3,
            "dur": (event.end - event.start) / 1e3,
        }
        if event.step >= 0:
            step = profile.steps[event.step]
            entry["name"], entry["cat"] = step.node or step.op, step.op
            entry["args"] = {
                "op": step.op,
                "kernel": step.kernel,
                "why": step.why,
                "outputs": [list(shape) for shape in step.outputs],
                "MFLOP": round(step.flops / 1e6, 3),
                "bytes": step.bytes,
            }
        events.append(entry)
    events += _workers(profile, first)
    return json.dumps({"displayTimeUnit": "ms", "traceEvents": events}, ensure_ascii=False)


def _workers(profile: Profile, first: int) -> list[dict[str, Any]]:
    """Spans from a thread's first to its last piece of work in a step."""
    tracks = sorted({(event.thread, event.worker) for event in profile.work})
    numbers = {track: 1000 + index for index, track in enumerate(tracks)}
    events: list[dict[str, Any]] = [
        {
            "name": "thread_name",
            "ph": "M",
            "pid": 1,
            "tid": numbers[caller, worker],
            "args": {"name": f"caller {caller}, thread {worker}"},
        }
        for caller, worker in tracks
    ]
    for event in profile.work:
        step = profile.steps[event.step]
        events.append(
            {
                "name": step.node or step.op,
                "cat": "work",
                "ph": "X",
                "pid": 1,
                "tid": numbers[event.thread, event.worker],
                "ts": (event.start - first) / 1e3,
                "dur": (event.end - event.start) / 1e3,
                "args": {"busy µs": event.busy / 1e3},
            }
        )
    return events
