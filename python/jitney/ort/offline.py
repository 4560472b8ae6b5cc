"""Names of ONNX Runtime's that have nothing behind them here: they can be imported, and say so when they are called."""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import ModuleType
from typing import Any, NoReturn

from jitney.errors import Unsupported


class _Absent(type):
    """A class that can be named, subclassed and looked into, but not called."""

    def __call__(cls, *_: Any, **__: Any) -> NoReturn:
        raise Unsupported(
            f"onnxruntime's {cls.__qualname__} is not part of jitney.ort, which runs models and nothing else",
            hint="run this part of the program with ONNX Runtime itself",
        )

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{cls.__qualname__}.{name}")


def absent_below(module: str) -> Callable[[str], Any]:
    """A module's `__getattr__` for which every name stands for something absent; `module` is its name below onnxruntime."""

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{module}.{name}")

    return __getattr__


def absent_among(names: Collection[str], module: str) -> Callable[[str], Any]:
    """A module's `__getattr__` for which these names stand for something absent, and others do not exist."""

    def __getattr__(name: str) -> Any:
        if name in names:
            return absent(name)
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    return __getattr__


def absent(name: str) -> Any:
    """Stands for what ONNX Runtime calls `name`."""
    return _Absent(name.rpartition(".")[2], (), {"__doc__": f"Stands for {name}.", "__qualname__": name})


class AbsentModule(ModuleType):
    """A module all of whose names, and submodules, stand for what is not here."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "Stands for a part of ONNX Runtime that is not part of jitney.ort.")
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{self.__name__.partition('.')[2]}.{name}")
