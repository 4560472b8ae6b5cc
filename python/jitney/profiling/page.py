"""The profile as one page that needs no network: page.html with the figures put in."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from jitney.profiling.measure import Machine, Measured
from jitney.reports import PlanReport

_PLACE = "/*the figures*/ null"


def to_html(title: str, facts: dict[str, str], measured: Measured, machine: Machine, plan: PlanReport) -> str:
    """`facts` are shown at the top. The memory plan is that of `plan`."""
    page = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    data = json.dumps(_data(title, facts, measured, machine, plan), ensure_ascii=False)
    # Names are the model's: none may end the script.
    safe = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return page.replace(_PLACE, safe)


def _data(title: str, facts: dict[str, str], measured: Measured, machine: Machine, plan: PlanReport) -> dict[str, Any]:
    origin = measured.timeline[0].start if measured.timeline else 0
    return {
        "title": title,
        "facts": facts,
        "peak": {"flops": machine.flops_per_second, "bytes": machine.bytes_per_second},
        "runs": list(measured.run_times),
        "between": measured.between,
        "steps": [
            {
                "node": step.report.node,
                "op": step.report.op,
                "kernel": step.report.kernel,
                "why": step.report.why,
                "outputs": [list(shape) for shape in step.report.outputs],
                "least": step.least,
                "median": step.median,
                "calls": step.calls,
                "flops": step.flops,
                "bytes": step.bytes,
                "inner": step.inside_loop,
                "busy": step.busy,
            }
            for step in measured.steps
        ],
        "timeline": [[event.step, event.start - origin, event.end - origin] for event in measured.timeline],
        "threads": machine.threads,
        "work": [[event.step, event.worker, event.start - origin, event.end - origin, event.busy] for event in measured.work],
        "plan": {
            "arena": plan.memory.arena_bytes,
            "bound": plan.memory.lower_bound_bytes,
            "weights": plan.memory.weight_bytes,
            "packed": plan.memory.packed_bytes,
            "strategy": plan.memory.strategy,
            "ends_at": plan.memory.ends_at,
            "steps": [step.node or step.op for step in plan.steps],
            "buffers": [[b.written_by, b.offset, b.bytes, b.first, b.last] for b in plan.buffers],
        },
    }
