"""Instructions on 64-bit ARM: each network once under qemu, counted by the plugin beside this file."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from counts.baseline import Measurement
from counts.tools import CountingError, output, side_by_side, version

_CPU = "cortex-a53"  # plain NEON, what every 64-bit ARM processor has
_ROOT = "/usr/aarch64-linux-gnu"


def build_plugin(folder: Path) -> Path:
    """Compiles the plugin."""
    library = folder / "libinsn.so"
    source = Path(__file__).with_name("insn_plugin.c")
    output(["gcc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)])
    return library


def count(program: Path, models: Mapping[str, Path], at_a_time: int) -> Measurement:
    """{network: instructions, and loads and stores, of a run}."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plugin = build_plugin(folder)

        def one(case: str) -> dict[str, float]:
            result = folder / f"{case}.json"
            command = ["qemu-aarch64", "-L", _ROOT, "-cpu", _CPU, "-plugin", f"{plugin},out={result}"]
            # Kernels for in-order cores take more instructions, on purpose; the loops' cycles watch over those.
            environment = {**os.environ, "JITNEY_ISA": "neon", "JITNEY_CORE": "out-of-order"}
            output([*command, str(program), str(models[case])], environment=environment)
            found = json.loads(result.read_text(encoding="utf-8")).get("between")
            if found is None:
                raise CountingError(f"the plugin saw no marks in {program}")
            return {"instructions": found["instructions"], "loads_and_stores": found["loads"] + found["stores"]}

        counts = side_by_side(one, list(models), at_a_time)
    return Measurement("emulated", {"g++": version("aarch64-linux-gnu-g++", "--version")}, dict(zip(models, counts)))
