"""Writes a file so that readers see either the old content or all of the new, whatever goes wrong in between."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

Piece = bytes | bytearray | memoryview


def write_atomically(path: str | os.PathLike[str], pieces: Iterable[Piece]) -> int:
    """Writes the pieces in order and returns their total size. On any failure the old file is intact and no other is left."""
    target = Path(path)
    mode = _mode_for(target)
    # In the target's own folder: a rename is atomic only within one file system.
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    temporary = Path(name)
    try:
        size = 0
        with os.fdopen(descriptor, "wb") as file:
            for piece in pieces:
                size += len(piece)
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)
    return size


def _mode_for(target: Path) -> int:
    """The permissions that a plain open() would give: the old file's, or those that the umask leaves."""
    with contextlib.suppress(OSError):
        return target.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def _sync_folder(folder: Path) -> None:
    """Makes the rename itself durable, where the system lets folders be synced."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
