"""Runs the programs that the gates stand on, with errors that say what is missing."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class CountingError(RuntimeError):
    """A gate cannot count."""


def output(command: Sequence[str], *, given: str | None = None, environment: Mapping[str, str] | None = None) -> tuple[str, str]:
    """(stdout, stderr) of a command that must succeed."""
    if shutil.which(command[0]) is None:
        raise CountingError(f"{command[0]} is not there; docs/performance.md says what the gates need")
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise CountingError(f"{' '.join(command)} failed with status {done.returncode}:\n{done.stderr.strip()[-2000:]}")
    return done.stdout, done.stderr


def version(*command: str) -> str:
    """The first version number that the command prints, without what only packagers count."""
    out, err = output(command)
    found = re.search(r"\d+\.\d+(\.\d+)?", out + err)
    if found is None:
        raise CountingError(f"{' '.join(command)} prints no version")
    return found[0]


def side_by_side(work: Callable[[Item], Result], items: Sequence[Item], at_a_time: int) -> list[Result]:
    """The results in order; the work itself is done by other processes."""
    with ThreadPoolExecutor(at_a_time) as pool:
        return list(pool.map(work, items))
