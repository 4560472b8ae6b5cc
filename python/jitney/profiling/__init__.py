"""What `jitney profile` shows: times of steps over many runs, beside what the machine can do; as a page, and as a trace."""

from __future__ import annotations

from jitney.profiling.measure import Machine, Measured, StepTimes, measure_machine, summarise
from jitney.profiling.page import to_html
from jitney.profiling.trace import to_chrome_trace

__all__ = ["Machine", "Measured", "StepTimes", "measure_machine", "summarise", "to_chrome_trace", "to_html"]
