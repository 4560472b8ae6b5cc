"""Paths as the system takes them."""

from __future__ import annotations

import os

from jitney.errors import IoError


def path_bytes(path: str | os.PathLike[str]) -> bytes:
    """The path's bytes; IoError if it is text that no path can be."""
    try:
        return os.fsencode(path)
    except UnicodeEncodeError as error:
        raise IoError(f"{os.fspath(path)!r} is no path: {error.reason}") from None
