"""onnxruntime.capi.onnxruntime_inference_collection: the classes under the name of the module that defines them there."""

from __future__ import annotations

from ..binding import IOBinding
from ..enums import OrtDeviceVendorId
from ..offline import absent_among
from ..session import InferenceSession, Session
from ..values import OrtDevice, OrtValue, copy_tensors

__all__ = ["IOBinding", "InferenceSession", "OrtDevice", "OrtDeviceVendorId", "OrtValue", "Session", "copy_tensors"]

ABSENT = ("AdapterFormat", "ModelCompiler", "SparseTensor")


__getattr__ = absent_among(ABSENT, "onnxruntime.capi.onnxruntime_inference_collection")
