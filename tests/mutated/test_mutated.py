"""Mutated files and nasty models: an error that is typed or a right result, within 1 GB, and nothing left behind."""

from __future__ import annotations

import sys

import pytest

from .__main__ import attempts, extreme, file_of
from .attempt import Converter
from .extremes import EXTREMES
from .seeds import FIXED

PATIENCE = 100.0
"""Seconds for a file, ten times what `python -m tests.mutated` allows: others may be using the machine."""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is measured through /proc")


def test_mutated_files() -> None:
    files = [(f"ci/{number}", file_of(f"ci/{number}")[0]) for number in range(250)]
    bad = [f"{title}: {outcome}" for title, _, outcome in attempts(files, 2, PATIENCE) if not outcome.good]
    assert not bad, "\n".join(bad)


def test_models_that_are_nasty_as_a_whole() -> None:
    files = [(build.__name__, extreme(build)) for build in EXTREMES]
    bad = [f"{title}: {outcome}" for title, _, outcome in attempts(files, 2, PATIENCE) if not outcome.good]
    assert not bad, "\n".join(bad)


def test_seeds_are_sound() -> None:
    files = [(build.__name__, build().SerializeToString()) for build in FIXED]
    words = {title: outcome.word for title, _, outcome in attempts(files, 1, PATIENCE)}
    assert words == dict.fromkeys(words, "right")


def test_a_file_is_the_same_each_time() -> None:
    assert file_of("same/1") == file_of("same/1")


def test_crashes_and_litter_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    from . import attempt as module

    converter = Converter()
    monkeypatch.setattr(module, "_convert", lambda folder: os.abort())
    assert converter.attempt(b"").word == "crash"
    monkeypatch.setattr(module, "_convert", lambda folder: ((folder / "left").write_bytes(b""), ("error", ""))[1])
    assert converter.attempt(b"").word == "litter"
    converter.close()
