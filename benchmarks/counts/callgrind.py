"""Instructions on x86: each network once under valgrind's callgrind, at the AVX2 level (valgrind knows no AVX-512)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from counts.baseline import Measurement
from counts.tools import CountingError, output, side_by_side, version

LEVEL = "avx2"

_COMMAND = (
    "valgrind",
    "--tool=callgrind",
    "--callgrind-out-file=/dev/null",
    "--collect-atstart=no",
    "--toggle-collect=count_region",
)


def count(program: Path, models: Mapping[str, Path], at_a_time: int) -> Measurement:
    """{network: instructions of a run}."""
    environment = {**os.environ, "JITNEY_ISA": LEVEL}

    def one(model: Path) -> dict[str, float]:
        _, messages = output([*_COMMAND, str(program), str(model)], environment=environment)
        found = re.search(r"Collected : (\d+)", messages)
        if found is None:
            raise CountingError(f"callgrind does not say what it collected:\n{messages[-2000:]}")
        return {"instructions": int(found[1])}

    counts = side_by_side(one, list(models.values()), at_a_time)
    return Measurement("callgrind", {"g++": version("g++", "--version")}, dict(zip(models, counts)))
