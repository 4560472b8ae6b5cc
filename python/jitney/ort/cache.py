"""Keeps converted models in the user's cache folder, by the content of what they were made from. Needs no onnx.

The folder is $JITNEY_CACHE, or `jitney/ort` in the platform's place for caches; JITNEY_CACHE=off keeps nothing. Files beyond
$JITNEY_CACHE_BYTES in all (10 GB unless set) are deleted, least recently used first.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import mmap
import os
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import jitney
from jitney import _core
from jitney.errors import InvalidModel, IoError
from jitney.model import Model

from .recipe import Recipe

_DEFAULT_LIMIT: Final = 10 * 10**9
_STALE_SECONDS: Final = 3600
"""Half-written files that are older belong to processes that died."""

Source = str | bytes


def folder() -> Path | None:
    """Where converted models are kept; None if nowhere."""
    chosen = os.environ.get("JITNEY_CACHE")
    if chosen:
        return None if chosen == "off" else Path(chosen)
    with contextlib.suppress(RuntimeError):  # no home folder
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "jitney" / "ort"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "jitney" / "ort"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jitney" / "ort"
    return None


class Entry:
    """The place of one model, converted by one recipe."""

    def __init__(self, source: Source, recipe: Recipe) -> None:
        self._folder = folder()
        self._source, self._recipe = source, recipe
        self._model, self._may_be_external = _digest(source)
        self._path = self._located(self._known_externals()) if self._folder is not None else None

    def load(self) -> Model | None:
        """The converted model, if it is there and whole."""
        if self._path is None:
            return None
        try:
            model = Model(self._path)
        except (IoError, InvalidModel):
            return None
        with contextlib.suppress(OSError):
            os.utime(self._path)  # for the order in which entries go
        return model

    def store(self, pieces: Iterable[bytes | bytearray | memoryview], externals: list[str]) -> Model | None:
        """Writes the converted model and opens it; None, with a warning the first time, if it cannot be written.

        `externals` names the files of the model's weights, so that a change in them is noticed next time."""
        if self._folder is None:
            return None
        from jitney.converter.atomic import write_atomically

        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if externals:
                write_atomically(self._externals_path(self._folder), [json.dumps(externals).encode()])
            path = self._located(externals)
            assert path is not None
            write_atomically(path, pieces)
            _prune(self._folder, path)
            return Model(path)
        except (OSError, ValueError) as error:
            _warn_once(f"converted models cannot be kept in '{self._folder}' ({error}); each start converts them again")
            return None

    def _externals_path(self, folder: Path) -> Path:
        return folder / f"{self._model}.external"

    def _known_externals(self) -> list[str] | None:
        """Names of the files of the model's weights; None if they are not known yet."""
        if not self._may_be_external or self._folder is None:
            return []
        try:
            names = json.loads(self._externals_path(self._folder).read_bytes())
        except (OSError, ValueError):
            return []
        return names if isinstance(names, list) else None

    def _located(self, externals: list[str] | None) -> Path | None:
        if externals is None or self._folder is None:
            return None
        parent = Path(self._source).parent if isinstance(self._source, str) else Path()
        contents = [(name, _digest_file(parent / name)) for name in externals]
        key = json.dumps([self._model, contents, fingerprint(), self._recipe.key()])
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()}.jny"


@functools.lru_cache(maxsize=1)
def fingerprint() -> str:
    """Changes with the converter and the runtime, so that what another version made is not used."""
    digest = hashlib.sha256(jitney.__version__.encode())
    package = Path(jitney.__file__).parent
    for path in [*sorted((package / "converter").rglob("*.py")), Path(__file__).parent / "conversion.py", Path(_core.__file__)]:
        with contextlib.suppress(OSError):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _digest(source: Source) -> tuple[str, bool]:
    """The content's SHA-256, and whether weights may lie in other files."""
    if isinstance(source, bytes):
        return hashlib.sha256(source).hexdigest(), b"location" in source
    with Path(source).open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return hashlib.sha256().hexdigest(), False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return hashlib.sha256(content).hexdigest(), content.find(b"location") >= 0


def _digest_file(path: Path) -> str:
    try:
        return _digest(os.fspath(path))[0]
    except (OSError, ValueError):
        return ""


def _prune(folder: Path, newest: Path) -> None:
    """Deletes the least recently used entries beyond the limit, and what dead processes left."""
    try:
        limit = int(os.environ.get("JITNEY_CACHE_BYTES") or _DEFAULT_LIMIT)
    except ValueError:
        limit = _DEFAULT_LIMIT
    with contextlib.suppress(OSError):
        files = [(path, path.stat()) for path in folder.iterdir()]
        latest = max(status.st_mtime for _, status in files)
        kept = 0
        for path, status in sorted(files, key=lambda item: item[1].st_mtime, reverse=True):
            if path.suffix == ".part":
                expired = status.st_mtime < latest - _STALE_SECONDS
            else:
                kept += status.st_size
                expired = kept > limit and path != newest
            if expired:
                with contextlib.suppress(OSError):  # another process was faster, or holds it open
                    path.unlink()


_warned = False


def _warn_once(message: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(f"jitney.ort: {message}; JITNEY_CACHE names another folder, JITNEY_CACHE=off none", stacklevel=4)
