"""Writes text files that commands are asked for: whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from jitney.errors import IoError


def write_text(path: Path, text: str) -> None:
    """Puts the text where it is wanted; on failure what was there stays, and nothing else is left. Raises IoError.

    Letters that are no Unicode (of names of files) become question marks.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8", errors="replace")  # a pipe or a device; a folder fails with the right message
            return
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        part = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
            umask = os.umask(0)
            os.umask(umask)
            part.chmod(0o666 & ~umask)
            part.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink()
            raise
    except OSError as error:
        hint = "give the path of a file in a folder that exists and can be written"
        raise IoError(f"{path} cannot be written: {error.strerror or error}", hint=hint) from None
