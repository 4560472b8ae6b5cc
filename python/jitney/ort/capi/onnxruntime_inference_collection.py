"""onnxruntime.capi.onnxruntime_inference_collection: the classes under the name of the module that defines them there."""

from __future__ import annotations

from typing import Any

from ..binding import IOBinding
from ..enums import OrtDeviceVendorId
from ..offline import absent
from ..session import InferenceSession, Session
from ..values import OrtDevice, OrtValue, copy_tensors

__all__ = ["IOBinding", "InferenceSession", "OrtDevice", "OrtDeviceVendorId", "OrtValue", "Session", "copy_tensors"]

ABSENT = ("AdapterFormat", "ModelCompiler", "SparseTensor")


def __getattr__(name: str) -> Any:
    if name in ABSENT:
        return absent(name)
    raise AttributeError(f"module 'onnxruntime.capi.onnxruntime_inference_collection' has no attribute '{name}'")
