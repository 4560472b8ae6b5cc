"""onnxruntime.capi.onnxruntime_validation: which package this is."""

from __future__ import annotations

from ..runtime import VERSION


def get_package_name_and_version_info() -> tuple[str, str, str]:
    """Name, version and CUDA version, which is empty."""
    return "onnxruntime", VERSION, ""


def check_distro_info() -> None:
    """Without effect: Jitney runs on any distribution that its wheel installs on."""
