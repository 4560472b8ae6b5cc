"""SessionOptions and RunOptions: every attribute of ONNX Runtime's, with its type checked, readable back."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from typing import Any, Generic, NoReturn, TypeVar, overload

import numpy as np

from jitney.errors import Unsupported

from .enums import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
from .exceptions import Fail
from .values import OrtValue

T = TypeVar("T")


class _Option(Generic[T]):
    """An attribute with a default, whose value is checked when it is set."""

    def __init__(self, default: T, check: Callable[[object], T | None], wanted: str) -> None:
        self.default, self._check, self._wanted = default, check, wanted

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> _Option[T]: ...
    @overload
    def __get__(self, instance: _Options, owner: type) -> T: ...
    def __get__(self, instance: _Options | None, owner: type) -> _Option[T] | T:
        if instance is None:
            return self
        value: T = instance._values.get(self.name, self.default)
        return value

    def __set__(self, instance: _Options, value: object) -> None:
        checked = self._check(value)
        if checked is None:
            raise TypeError(f"{self.name}: {value!r} was given; {self._wanted} is wanted")
        instance._values[self.name] = checked


def _flag(default: bool) -> _Option[bool]:
    def check(value: object) -> bool | None:
        return bool(value) if value is None or isinstance(value, (bool, int, float, np.bool_, np.number)) else None

    return _Option(default, check, "a bool")


def _number(default: int) -> _Option[int]:
    return _Option(default, _as_int, "an int of 32 bits")


def _as_int(value: object, bits: int = 32) -> int | None:
    if not isinstance(value, (int, np.integer)):
        return None
    return int(value) if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None


def _text(default: str) -> _Option[str]:
    def check(value: object) -> str | None:
        return value if isinstance(value, str) else value.decode() if isinstance(value, bytes) else None

    return _Option(default, check, "a str")


def _member(default: T) -> _Option[T]:
    kind = type(default)
    return _Option(default, lambda value: value if isinstance(value, kind) else None, f"a member of {kind.__name__}")


class _Options:
    """Named values and free entries."""

    __slots__ = ("__weakref__", "_entries", "_values")

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._entries: dict[str, str] = {}

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def _add_entry(self, key: object, value: object) -> None:
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"the entry {key!r}: {value!r} was given; two str are wanted")
        self._entries[key] = value

    def _entry(self, key: str) -> str:
        if key not in self._entries:
            raise RuntimeError(f"{type(self).__name__} does not have configuration with key: {key}")
        return self._entries[key]

    def _ignored(self, meaningful: Sequence[str]) -> list[str]:
        """What was set though it means nothing here, for the report."""
        values = [f"{name}={value}" for name, value in self._values.items() if name not in meaningful]
        return values + [f"{key}={value}" for key, value in self._entries.items()]


class SessionOptions(_Options):
    """Settings of a session. `intra_op_num_threads`, free dimensions, initializers and profiling have effect here."""

    __slots__ = ("_free_dimensions", "_initializers")

    enable_cpu_mem_arena = _flag(True)
    enable_mem_pattern = _flag(True)
    enable_mem_reuse = _flag(True)
    enable_profiling = _flag(False)
    execution_mode = _member(ExecutionMode.ORT_SEQUENTIAL)
    execution_order = _member(ExecutionOrder.DEFAULT)
    graph_optimization_level = _member(GraphOptimizationLevel.ORT_ENABLE_ALL)
    inter_op_num_threads = _number(0)
    intra_op_num_threads = _number(0)
    log_severity_level = _number(-1)
    log_verbosity_level = _number(0)
    logid = _text("")
    optimized_model_filepath = _text("")
    profile_file_prefix = _text("onnxruntime_profile_")
    use_deterministic_compute = _flag(False)
    use_per_session_threads = _flag(True)

    def __init__(self) -> None:
        super().__init__()
        self._free_dimensions: dict[str, int] = {}
        self._initializers: dict[str, OrtValue] = {}

    def add_session_config_entry(self, key: str, value: str, /) -> None:
        """Keeps an entry. None has a meaning here."""
        self._add_entry(key, value)

    def get_session_config_entry(self, key: str, /) -> str:
        """The entry of that key; RuntimeError if there is none."""
        return self._entry(key)

    def add_free_dimension_override_by_name(self, name: str, size: int, /) -> None:
        """Fixes a symbol of the model's input shapes."""
        checked = _as_int(size, 64)
        if not isinstance(name, str) or checked is None:
            raise TypeError(f"({name!r}, {size!r}) was given; a symbol and an int are wanted")
        self._free_dimensions[name] = checked

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int, /) -> None:
        """Not carried out: models hardly ever carry denotations."""
        raise Unsupported(f"the dimension denoted {denotation!r} cannot be fixed", hint="use add_free_dimension_override_by_name")

    def add_initializer(self, name: str, value: OrtValue, /) -> None:
        """Replaces an initializer of the model."""
        if not isinstance(value, OrtValue):
            raise RuntimeError("The provided Python object must be an OrtValue")
        self._initializers[name] = value

    def add_external_initializers(self, names: Sequence[str], values: Sequence[OrtValue], /) -> None:
        """Gives initializers that the model says are in external files."""
        if len(names) != len(values):
            raise RuntimeError("Expecting names and ort_values lists to have equal length")
        for name, value in zip(names, values):
            self.add_initializer(name, value)

    def add_external_initializers_from_files_in_memory(self, *_: object) -> NoReturn:
        """Not carried out."""
        raise Unsupported("external data cannot be given in memory", hint="put the file beside the model, and give its path")

    def register_custom_ops_library(self, path: str | os.PathLike[str], /) -> NoReturn:
        """Raises: libraries of operators for ONNX Runtime do not fit Jitney."""
        try:
            ctypes.CDLL(os.fspath(path))
        except OSError as error:
            raise Fail.of(f"Failed to load library {os.fspath(path)} with error: {error}") from None
        raise Unsupported(
            f"the operators of '{os.fspath(path)}' are compiled for ONNX Runtime and cannot be used",
            hint="run this model with ONNX Runtime, or export it without custom operators",
        )

    def has_providers(self) -> bool:
        """Whether providers were given by `add_provider`."""
        return False

    def add_provider(self, name: str, options: dict[str, str], /) -> None:
        """Accepts the CPU provider, which needs no adding."""
        if name != "CPUExecutionProvider":
            raise Unsupported(f"the provider '{name}' is not there", hint="Jitney runs on the CPU")

    def add_provider_for_devices(self, devices: Sequence[object], options: dict[str, str], /) -> NoReturn:
        """Raises: there are no provider plug-ins."""
        raise Unsupported("there are no devices of provider plug-ins", hint="leave the choice to providers=[...]")

    def set_provider_selection_policy(self, policy: object, /) -> NoReturn:
        """Raises: there are no provider plug-ins."""
        raise Unsupported("there are no provider plug-ins to choose from", hint="leave the choice to providers=[...]")

    def set_provider_selection_policy_delegate(self, delegate: object, /) -> NoReturn:
        """Raises: there are no provider plug-ins."""
        self.set_provider_selection_policy(delegate)

    def _copy(self) -> SessionOptions:
        copy = SessionOptions()
        for name in ("_values", "_entries", "_free_dimensions", "_initializers"):
            getattr(copy, name).update(getattr(self, name))
        return copy


class RunOptions(_Options):
    """Settings of one run. `terminate`, set before the run, has effect here."""

    __slots__ = ()

    log_severity_level = _number(-1)
    log_verbosity_level = _number(0)
    logid = _text("")
    only_execute_path_to_fetches = _flag(False)
    terminate = _flag(False)

    def add_run_config_entry(self, key: str, value: str, /) -> None:
        """Keeps an entry. None has a meaning here."""
        self._add_entry(key, value)

    def get_run_config_entry(self, key: str, /) -> str:
        """The entry of that key; RuntimeError if there is none."""
        return self._entry(key)

    def add_active_adapter(self, adapter: object, /) -> NoReturn:
        """Raises: adapters are ONNX Runtime's own format."""
        raise Unsupported("LoRA adapters cannot be applied", hint="merge the adapter into the model before exporting it")
