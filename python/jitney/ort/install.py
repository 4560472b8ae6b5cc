"""Puts jitney.ort in the place of `onnxruntime`: in this process, and in those that it starts."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Final

from jitney.errors import Error

from .offline import AbsentModule

_THEIRS: Final = "onnxruntime"
_OURS: Final = "jitney.ort"
_OFFLINE: Final = ("quantization", "tools", "transformers")
"""Parts whose modules all can be imported, with nothing behind them."""

SHIM: Final = Path(__file__).parent / "shim"
"""A folder for the module search path: a package `onnxruntime` that installs this one, and its entry among installed packages."""


def install(*, children: bool = True) -> None:
    """From now on `import onnxruntime` gives jitney.ort, here and, unless `children` is False, in Python processes started from
    here (through the environment variable PYTHONPATH). Raises Error if ONNX Runtime has been imported already."""
    ours = importlib.import_module(_OURS)
    present = sys.modules.get(_THEIRS)
    if present is not None and present is not ours and not _is_shim(present):
        raise Error("onnxruntime has been imported already", hint="call jitney.ort.install() before anything imports onnxruntime")
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    sys.modules[_THEIRS] = ours
    shim = os.fspath(SHIM)
    if shim not in sys.path:
        # Where importlib.metadata looks for installed packages; behind the program's own folder, which some look up in place 0.
        sys.path.insert(1, shim)
    inherited = os.environ.get("PYTHONPATH", "")
    if children and shim not in inherited.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join([shim, inherited] if inherited else [shim])


def _is_shim(module: ModuleType) -> bool:
    return SHIM in Path(getattr(module, "__file__", None) or "").parents


class _Finder(MetaPathFinder):
    """Finds onnxruntime's modules among jitney.ort's, so that each exists once, under both names."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        name, _, rest = fullname.partition(".")
        if name != _THEIRS or not rest:
            return None
        ours = f"{_OURS}.{rest}"
        if rest.partition(".")[0] not in ("capi", *_OFFLINE):
            return None
        spec = _find(ours)
        if spec is not None:
            return ModuleSpec(fullname, _Alias(ours), is_package=spec.submodule_search_locations is not None)
        if rest.partition(".")[0] in _OFFLINE:
            return ModuleSpec(fullname, _Empty(), is_package=True)
        return None


def _find(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError:  # below one that is not there
        return None


class _Alias(Loader):
    """Gives the module of another name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has put the alias's in its place


class _Empty(Loader):
    """Gives a module whose names all stand for what is not here."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass
