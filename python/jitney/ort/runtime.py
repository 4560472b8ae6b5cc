"""What ONNX Runtime offers as functions: versions, devices, logging, random numbers."""

from __future__ import annotations

from typing import Any, Final, NoReturn

import numpy as np

import jitney
from jitney.errors import Unsupported

VERSION: Final = "1.32.0"
"""The release of ONNX Runtime whose behaviour this package follows; it meets the pins of the packages that use it."""


def get_version_string() -> str:
    """The release of ONNX Runtime that is followed."""
    return VERSION


def get_build_info() -> str:
    """Says that this is Jitney."""
    return f"Jitney {jitney.__version__} in place of ONNX Runtime {VERSION}"


def get_device() -> str:
    """The CPU."""
    return "CPU"


def set_default_logger_severity(severity: int, /) -> None:
    """Checks the number, 0 to 4. Jitney logs nothing: it raises or is silent."""
    _require_int(severity)
    if not 0 <= severity <= 4:
        raise RuntimeError("Invalid logging severity. 0:Verbose, 1:Info, 2:Warning, 3:Error, 4:Fatal")


def set_default_logger_verbosity(verbosity: int, /) -> None:
    """Without effect: Jitney logs nothing."""
    _require_int(verbosity)


def set_default_logger_callback(callback: object, /) -> None:
    """Without effect: Jitney logs nothing."""


def set_seed(seed: int, /) -> None:
    """Without effect: random nodes are seeded by the model."""
    _require_int(seed)


def set_global_thread_pool_sizes(intra_op: int, inter_op: int, /) -> None:
    """Without effect: each session has threads of its own."""
    _require_int(intra_op)
    _require_int(inter_op)


def disable_telemetry_events() -> None:
    """Without effect: there is no telemetry."""


def enable_telemetry_events() -> None:
    """Without effect: there is no telemetry."""


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Without effect: nothing needs loading."""


def has_collective_ops() -> bool:
    """There are none."""
    return False


def get_ep_devices() -> list[Any]:
    """No plug-in offers a device."""
    return []


def register_execution_provider_library(registration_name: str, library_path: str, /) -> NoReturn:
    """Raises: there are no provider plug-ins."""
    raise Unsupported(
        f"the execution provider '{registration_name}' in '{library_path}' is compiled for ONNX Runtime and cannot be used",
        hint="run this program with ONNX Runtime, or on the CPU",
    )


def unregister_execution_provider_library(registration_name: str, /) -> NoReturn:
    """Raises: there are no provider plug-ins."""
    raise Unsupported(f"no execution provider '{registration_name}' is registered")


def print_debug_info() -> None:
    """Prints what this is."""
    print(get_build_info())


def _require_int(value: object) -> None:
    if not isinstance(value, (int, np.integer)):
        raise TypeError(f"{value!r} was given; an int is wanted")
