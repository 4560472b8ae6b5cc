"""What a benchmark's figures were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def machine() -> dict[str, object]:
    """The processor's name, the number of cores, and the system."""
    return {"processor": _processor(), "cores": os.cpu_count(), "system": platform.platform()}


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    for line in info.read_text(encoding="utf-8").splitlines() if info.exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
