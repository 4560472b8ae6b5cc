"""How much memory plans take: the arena's size on known networks, and that it is a plan's real size."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from zoo import ZOO

import jitney

MIB = 1 << 20


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("zoo")

    def convert(name: str) -> Path:
        path = folder / f"{name}.jny"
        if not path.exists():
            jitney.convert(ZOO[name](), path, verify=False)
        return path

    return convert


@pytest.mark.parametrize(("name", "limit"), [("mobilenet_v2", 3.8 * MIB), ("resnet50", 9.3 * MIB)])
@pytest.mark.parametrize("threads", [1, 2])
def test_arena_of_known_networks(name: str, limit: float, threads: int, converted) -> None:
    with jitney.Session(converted(name), threads=threads) as session:
        report = session.memory_report
        assert report.lower_bound_bytes <= report.arena_bytes <= limit


@pytest.mark.parametrize("name", ["resnet18", "squeezenet11"])
def test_packed_weights_stay_near_the_weights(name: str, converted) -> None:
    """Panels are padded to whole vectors; Winograd's matrices, larger than the taps that they come from, are not kept."""
    with jitney.Session(converted(name), threads=1) as session:
        session.prepare({session.inputs[0].name: (1, 3, 224, 224)})
        report = session.memory_report
        assert 0 < report.packed_bytes <= 1.05 * report.weight_bytes


def test_info_prints_the_arena(converted) -> None:
    command = [sys.executable, "-m", "jitney.cli", "info", str(converted("mobilenet_v3_small")), "--json"]
    info = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    text = json.dumps(info)
    assert '"arena_bytes"' in text
    assert '"lower_bound_bytes"' in text
