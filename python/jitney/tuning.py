"""Files of measured ways: which one a session follows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from jitney import _core
from jitney.errors import InvalidInput, IoError, Unsupported
from jitney.paths import path_bytes

Tuning: TypeAlias = "Literal['auto'] | str | os.PathLike[str] | Mapping[str, str] | None"

SUFFIX = ".tuned"
"""What `jitney tune` adds to the model's path."""


def measured_ways(model: object, tuning: Tuning) -> tuple[dict[str, str], str]:
    """The ways to follow, and a sentence about where they come from.

    "auto": the file beside a model that is given by its path; one that was made elsewhere is left alone. Any other file must suit
    this processor (Unsupported) and be readable (IoError, InvalidInput).
    """
    if tuning is None:
        return {}, "asked for none"
    if isinstance(tuning, Mapping):
        if not all(isinstance(text, str) for pair in tuning.items() for text in pair):
            raise InvalidInput("tuning is a mapping of something else than str to str")
        if not all(_is_unicode(text) for pair in tuning.items() for text in pair):
            raise InvalidInput("tuning has text that is no Unicode: half of a surrogate pair")
        return dict(tuning), "ways given by the caller"
    if not isinstance(tuning, (str, os.PathLike)):
        raise InvalidInput(f"tuning={tuning!r} was given; a path, a mapping, None or 'auto' is wanted")
    if tuning != "auto":
        return read_tuning(tuning), f"follows {os.fsdecode(tuning)}"
    if not isinstance(model, (str, os.PathLike)):
        return {}, "the model was not given by its path"
    path = os.fsdecode(model) + SUFFIX
    if not _exists(path):
        return {}, f"there is no {path}"
    try:
        return read_tuning(path), f"follows {path}"
    except (InvalidInput, IoError, Unsupported) as error:
        return {}, f"not followed: {error}"


def read_tuning(path: str | os.PathLike[str]) -> dict[str, str]:
    """The ways in a file, by the work that they are for."""
    return _core.read_tuning(path_bytes(path))


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:  # the name with the suffix is too long, say
        return False


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def format_tuning(ways: Mapping[str, str]) -> str:
    """The text of a file with these ways for this processor."""
    lines = ["jitney tuning 1", _core.tuning_target(), *(f"{way}\t{work}" for work, way in sorted(ways.items()))]
    return "\n".join(lines) + "\n"
