"""Access to the real models and pictures of the catalogue."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fetch import cached


def real(name: str) -> Path:
    """A real model or picture of the catalogue; skips unless it was fetched, which `make test` does."""
    path = cached(name)
    if path is None:
        message = f"{name} is not in the cache; run: python models/fetch.py {name}"
        if os.environ.get("JITNEY_TEST_ALL"):
            pytest.fail(message)
        pytest.skip(message)
    return path
