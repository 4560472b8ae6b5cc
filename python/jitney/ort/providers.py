"""Execution providers: the names that programs ask for, and the one that is here."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Final

CPU: Final = "CPUExecutionProvider"

_ALL: Final = (
    "TensorrtExecutionProvider",
    "CUDAExecutionProvider",
    "MIGraphXExecutionProvider",
    "OpenVINOExecutionProvider",
    "DnnlExecutionProvider",
    "VitisAIExecutionProvider",
    "QNNExecutionProvider",
    "NnapiExecutionProvider",
    "VSINPUExecutionProvider",
    "JsExecutionProvider",
    "CoreMLExecutionProvider",
    "DmlExecutionProvider",
    "RknpuExecutionProvider",
    "WebNNExecutionProvider",
    "WebGpuExecutionProvider",
    "XnnpackExecutionProvider",
    "CANNExecutionProvider",
    "AzureExecutionProvider",
    CPU,
)


def get_all_providers() -> list[str]:
    """All names that ONNX Runtime knows."""
    return list(_ALL)


def get_available_providers() -> list[str]:
    """The CPU alone: programs hand this whole list on, or take its first."""
    return [CPU]


def warn_of_missing(providers: Any, provider_options: Any) -> None:
    """Warns of each provider that is not here, given twice or misshapen; the CPU takes its place, as with ONNX Runtime."""
    names: list[str] = []
    try:
        names = _names(providers, provider_options)
    except ValueError as error:
        warnings.warn(f"{error} The session runs on {CPU}.", UserWarning, stacklevel=3)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            warnings.warn(f"Duplicate provider '{name}' encountered, ignoring.", UserWarning, stacklevel=3)
        elif name != CPU:
            warnings.warn(
                f"Specified provider '{name}' is not in available provider names.Available providers: '{CPU}'",
                UserWarning,
                stacklevel=3,
            )
        seen.add(name)


def require_known(providers: Any, provider_options: Any) -> None:
    """RuntimeError for a name that ONNX Runtime does not know either; ValueError for a misshapen list."""
    for name in _names(providers, provider_options):
        if name not in _ALL:
            raise RuntimeError(f"Unknown Provider Type: {name}")


def _names(providers: Any, provider_options: Any) -> list[str]:
    if providers is None:
        return []
    if not isinstance(providers, Sequence):
        raise ValueError("'providers' should be a sequence.")
    if provider_options is not None:
        if not isinstance(provider_options, Sequence):
            raise ValueError("'provider_options' should be a sequence.")
        if len(providers) != len(provider_options):
            raise ValueError("'providers' and 'provider_options' should be the same length if both are given.")
    names = []
    for entry in providers:
        if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str) and isinstance(entry[1], dict):
            names.append(entry[0])
        elif isinstance(entry, str):
            names.append(entry)
        else:
            raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
    return names
