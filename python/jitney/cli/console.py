"""Where output goes: results to stdout, messages and progress to stderr."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from jitney.errors import Error


def _console(stderr: bool) -> Console:
    """Made when needed, so that it writes to the stream that is in place then. Piped text is not folded to a width."""
    console = Console(stderr=stderr, highlight=False, markup=False, soft_wrap=True)
    if not console.is_terminal:
        console = Console(stderr=stderr, highlight=False, markup=False, soft_wrap=True, width=10_000)
    return console


def accept_all_text() -> None:
    """Lets letters that stdout or stderr cannot write, and names that are no Unicode, appear as escapes in place of an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def line(text: str = "") -> None:
    """A line of results."""
    _console(stderr=False).print(text)


def note(text: str) -> None:
    """A line for the person at the terminal, on stderr."""
    _console(stderr=True).print(text)


def emit_json(data: Any) -> None:
    """One JSON document as the result."""
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=True) + "\n"
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        text = json.dumps(data, indent=2, ensure_ascii=True, allow_nan=True) + "\n"
    sys.stdout.write(text)


class Result(Protocol):
    """What a check found."""

    @property
    def ok(self) -> bool:
        """Whether it is a good one."""

    def to_dict(self) -> dict[str, Any]:
        """What --json prints."""


def verdict(result: Result, as_json: bool) -> None:
    """A check's result; the command ends with status 1 if it is a bad one."""
    if as_json:
        emit_json(result.to_dict())
    else:
        line(str(result))
    if not result.ok:
        raise typer.Exit(1)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Aligned columns; those whose heading ends in ">" stand on the right."""
    lines = [[heading.rstrip(">") for heading in headings], *map(list, rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*lines)]
    right = [heading.endswith(">") for heading in headings]
    for cells in lines:
        aligned = [cell.rjust(width) if end else cell.ljust(width) for cell, width, end in zip(cells, widths, right)]
        line("  ".join(aligned).rstrip())


def report(error: Error) -> None:
    """An error, where it arose, and what to do, on stderr."""
    place = f" ({error.where})" if error.where else ""
    note(f"jitney: error: {error.message}{place}")
    if error.hint:
        note(f"  hint: {error.hint}")


def size(count: int) -> str:
    """Bytes in words, e.g. "4.8 MiB"."""
    if count < 1024:
        return f"{count} B"
    value = float(count)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if value < 1024 or unit == "TiB":
            break
    return f"{value:.1f} {unit}"


class Bar:
    """A progress bar for work that reports (stage, done of all)."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=1.0) if progress else None

    def __call__(self, stage: str, fraction: float) -> None:
        """Shows the stage, and how much of all work is done."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, description=stage, completed=fraction)


@contextmanager
def progress() -> Iterator[Bar]:
    """A bar on stderr while the block runs; nothing unless stderr is a terminal."""
    console = _console(stderr=True)
    if not console.is_terminal:
        yield Bar(None)
        return
    columns = (TextColumn("{task.description:<10}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as shown:
        yield Bar(shown)
