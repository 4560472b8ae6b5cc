"""ONNX Runtime's Python interface on Jitney, so that programs written for it run unchanged (docs/ort.md).

from jitney import ort                                   # in place of `import onnxruntime as ort`
session = ort.InferenceSession("model.onnx")             # converted at first use, and kept
python -m jitney.ort script.py                           # runs a script that imports onnxruntime
"""

from __future__ import annotations

from . import capi
from .binding import IOBinding
from .capi import onnxruntime_validation
from .capi.onnxruntime_pybind11_state import ABSENT as _ABSENT
from .enums import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    OrtAllocatorType,
    OrtCompileApiFlags,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtExecutionProviderDevicePolicy,
    OrtHardwareDeviceType,
    OrtMemoryInfoDeviceType,
    OrtMemType,
    OrtSparseFormat,
)
from .install import install
from .interface import ModelMetadata, NodeArg
from .offline import absent_among as _absent_among
from .options import RunOptions, SessionOptions
from .providers import get_all_providers, get_available_providers
from .runtime import (
    VERSION,
    disable_telemetry_events,
    enable_telemetry_events,
    get_build_info,
    get_device,
    get_ep_devices,
    get_version_string,
    has_collective_ops,
    preload_dlls,
    print_debug_info,
    register_execution_provider_library,
    set_default_logger_callback,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
    set_seed,
    unregister_execution_provider_library,
)
from .session import InferenceSession
from .values import OrtDevice, OrtValue, copy_tensors

SessionIOBinding = IOBinding
__version__ = version = VERSION
__author__ = "Jitney"
package_name = "onnxruntime"
cuda_version = ""

__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtAllocatorType",
    "OrtCompileApiFlags",
    "OrtDevice",
    "OrtDeviceMemoryType",
    "OrtDeviceVendorId",
    "OrtExecutionProviderDevicePolicy",
    "OrtHardwareDeviceType",
    "OrtMemType",
    "OrtMemoryInfoDeviceType",
    "OrtSparseFormat",
    "OrtValue",
    "RunOptions",
    "SessionIOBinding",
    "SessionOptions",
    "capi",
    "copy_tensors",
    "cuda_version",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_ep_devices",
    "get_version_string",
    "has_collective_ops",
    "install",
    "onnxruntime_validation",
    "package_name",
    "preload_dlls",
    "print_debug_info",
    "register_execution_provider_library",
    "set_default_logger_callback",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
    "unregister_execution_provider_library",
    "version",
]


__getattr__ = _absent_among(_ABSENT, "onnxruntime (jitney.ort)")
