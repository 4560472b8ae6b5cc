"""Runs a model by the recipe that the inputs need: nearly always the plain one, otherwise one made on first use."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NoReturn

import jitney
from jitney.errors import Unsupported
from jitney.extras import require
from jitney.model import Model

from .cache import Entry
from .exceptions import Fail, NoSuchFile, OrtError, UnreadableModel, translated_loading, translated_running
from .interface import Interface, NodeArg
from .recipe import Recipe
from .values import Array

_OWN_MAGIC: Final = b"\x89JNY"
_ORT_FORMAT: Final = b"ORTM"
_CPU_LIMIT: Final = 1024


def open_model(source: str | bytes, recipe: Recipe) -> Model:
    """The converted model, from the cache if it is there. A .jny file is opened as it is."""
    path = source if isinstance(source, str) else ""
    with translated_loading(path):
        try:
            start = _start(source)
            if start.startswith(_OWN_MAGIC):
                return Model(source)
            if start[4:] == _ORT_FORMAT:
                raise Unsupported("this is ONNX Runtime's own format (.ort)", hint="give the ONNX model that it was made from")
            entry = Entry(source, recipe)
        except jitney.Error:
            raise
        except FileNotFoundError:
            raise NoSuchFile.of(f"Load model from {path} failed:Load model {path} failed. File doesn't exist") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise Fail.of(f"Load model from {path} failed:{reason}") from error
        return entry.load() or _converted(source, recipe, entry)


def _start(source: str | bytes) -> bytes:
    if isinstance(source, bytes):
        return source[:8]
    if os.path.isdir(source):  # noqa: PTH112  (the path may hold what pathlib refuses)
        message = f"Load model from {source} failed:Protobuf parsing failed: it is a folder"
        raise UnreadableModel(f"[ONNXRuntimeError] : 7 : INVALID_PROTOBUF : {message}")
    with open(source, "rb") as file:  # noqa: PTH123
        return file.read(8)


def _converted(source: str | bytes, recipe: Recipe, entry: Entry) -> Model:
    require("onnx", "convert", "converting a model that is not in the cache")
    from .conversion import convert

    result = convert(source, recipe)
    model = entry.store(result.layout.pieces(), result.externals)
    return model if model is not None else Model(b"".join(result.layout.pieces()))


class Engine:
    """A model's sessions, one for each recipe in use. May be used from many threads at once."""

    def __init__(self, source: str | bytes, recipe: Recipe, threads: int, profile: bool) -> None:
        self._source, self._recipe = source, recipe
        self._threads, self._profile = min(max(threads, 0), _CPU_LIMIT), profile
        self._lock = threading.Lock()
        model = open_model(source, recipe)
        self.interface = Interface.of_model(model)
        self._is_onnx = _is_onnx(source)
        if not self._is_onnx and (recipe.free_dimensions or recipe.replaced.arrays):
            raise Fail.of("symbols and initializers of a converted model (.jny) are fixed; give the ONNX model")
        self._sessions = {recipe: self._session(model)}
        self._overridable = {arg.name for arg in self.interface.overridable}
        self._scalars = [arg.name for arg in self.interface.inputs if arg._dims == () and arg.name not in self.interface.unused]
        self._equal = _equal_sizes([*self.interface.inputs, *self.interface.overridable])

    def __reduce__(self) -> NoReturn:
        raise TypeError("cannot pickle a session; keep the model's path, and load it again")

    @property
    def plain(self) -> jitney.Session:
        """The session of the plain recipe."""
        return self._sessions[self._recipe]

    @property
    def sessions(self) -> list[jitney.Session]:
        """All sessions in use."""
        return list(self._sessions.values())

    def run(self, feeds: Mapping[str, Array], outputs: Sequence[str], out: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """The named outputs. `feeds` holds checked arrays; those that nothing reads are not in it."""
        recipe = self._recipe_for(feeds)
        if recipe is self._recipe:
            session = self.plain
        else:
            feeds, session = self._special(feeds, recipe)
        with translated_running():
            return session.run(feeds, outputs=outputs, out=out or None)

    def _recipe_for(self, feeds: Mapping[str, Array]) -> Recipe:
        if not self._is_onnx:
            return self._recipe
        given = self._overridable and self._overridable.intersection(feeds)
        ranks = tuple((name, feeds[name].ndim) for name in self._scalars if name in feeds and feeds[name].ndim)
        conflict = any(_differ(feeds, places) for places in self._equal)
        if not (given or ranks or conflict):
            return self._recipe
        return replace(self._recipe, as_inputs=frozenset(given or ()), ranks=ranks, anonymous=conflict)

    def _special(self, feeds: Mapping[str, Array], recipe: Recipe) -> tuple[Mapping[str, Array], jitney.Session]:
        with self._lock:
            session = self._sessions.get(recipe)
            if session is None:
                try:
                    session = self._session(open_model(self._source, recipe))
                except OrtError:
                    scalars = {name: feeds[name].reshape(()) for name, _ in recipe.ranks if feeds[name].size == 1}
                    if len(scalars) < len(recipe.ranks) or not scalars:
                        raise
                    # Where the graph needs a scalar, an array of one element serves as one.
                    session = self._sessions.get(replace(recipe, ranks=()))
                    if session is None:
                        session = self._session(open_model(self._source, replace(recipe, ranks=())))
                self._sessions[recipe] = session
        ranks = {info.name: info.shape for info in session.inputs}
        return {name: array.reshape(()) if ranks.get(name) == () else array for name, array in feeds.items()}, session

    def _session(self, model: Model) -> jitney.Session:
        with translated_loading(""):
            return jitney.Session(model, threads=self._threads, profile=self._profile)


def _is_onnx(source: str | bytes) -> bool:
    """Whether the source is an ONNX model, which can be converted by other recipes."""
    return not _start(source).startswith(_OWN_MAGIC)


def _equal_sizes(args: Iterable[NodeArg]) -> list[list[tuple[str, int]]]:
    """For each symbol that occurs more than once, where: (input, axis)."""
    places: dict[str, list[tuple[str, int]]] = {}
    for arg in args:
        for axis, dim in enumerate(arg.shape):
            if isinstance(dim, str):
                places.setdefault(dim.strip(), []).append((arg.name, axis))
    return [each for each in places.values() if len(each) > 1]


def _differ(feeds: Mapping[str, Array], places: Iterable[tuple[str, int]]) -> bool:
    return len({feeds[name].shape[axis] for name, axis in places if name in feeds}) > 1
