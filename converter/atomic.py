"""Writes a file so that readers see either the old content or all of the new, whatever goes wrong in between."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

Piece = bytes | bytearray | memoryview


class StagedFile:
    """A file written beside its target under a passing name, to be looked at before it takes the target's place.

    As a context: unless `commit` was called, it is gone at the end, and the target is as it was.
    """

    def __init__(self, target: str | os.PathLike[str], pieces: Iterable[Piece]) -> None:
        self._target = Path(target)
        self.size = 0
        # In the target's own folder: a rename is atomic only within one file system.
        descriptor, name = tempfile.mkstemp(prefix=f".{self._target.name}.", suffix=".part", dir=self._target.parent)
        self.path = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                for piece in pieces:
                    self.size += len(piece)
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            self._discard()
            raise

    def commit(self) -> None:
        """Puts the file in the target's place."""
        self.path.chmod(_mode_for(self._target))
        self.path.replace(self._target)
        _sync_folder(self._target.parent)

    def __enter__(self) -> StagedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._discard()

    def _discard(self) -> None:
        with contextlib.suppress(OSError):
            self.path.unlink()


def write_atomically(target: str | os.PathLike[str], pieces: Iterable[Piece]) -> int:
    """Writes the pieces in order and returns their total size. On any failure the old file is intact and no other is left."""
    with StagedFile(target, pieces) as file:
        file.commit()
        return file.size


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
