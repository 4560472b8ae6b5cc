"""OrtValue and OrtDevice: tensors that programs keep, bind and hand over. All memory is the host's."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from .spelling import dtype_from, dtype_of, element_type, spelled_dtype, spelled_name, spelled_number, told

Array = npt.NDArray[Any]

_DEVICE_TYPES: Final = {"cpu": 0, "cuda": 1, "gpu": 1, "cann": 3, "npu": 3, "dml": 4, "webgpu": 1}


class OrtDevice:
    """Where memory lies."""

    def __init__(self, name: str = "cpu", device_id: int = 0, vendor_id: int = 0) -> None:
        if name not in _DEVICE_TYPES:
            raise Exception(f"Unsupported device type: {name}")  # the class that ONNX Runtime raises
        self._name, self._id, self._vendor = name, device_id, vendor_id

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        """A device by name and number."""
        return OrtDevice(ort_device_name, device_id, max(vendor_id, 0))

    @staticmethod
    def cpu() -> int:
        """The number of CPUs among the types of devices."""
        return 0

    @staticmethod
    def cuda() -> int:
        """The number of GPUs among the types of devices."""
        return 1

    def device_id(self) -> int:
        """Which of the devices of this type."""
        return self._id

    def device_type(self) -> int:
        """0 for the CPU."""
        return _DEVICE_TYPES[self._name]

    def device_vendor_id(self) -> int:
        """The vendor's PCI number; 0 if that does not matter."""
        return self._vendor

    def device_mem_type(self) -> int:
        """0: ordinary memory."""
        return 0

    def _get_c_device(self) -> OrtDevice:
        return self


def require_host(device_type: object) -> None:
    """RuntimeError for memory that is not the host's."""
    if OrtDevice(str(device_type)).device_type() != 0:
        raise RuntimeError(
            f"Can't allocate memory on the {str(device_type).upper()} device using this package of OnnxRuntime. "
            f"Jitney keeps tensors in the host's memory: use the device 'cpu'."
        )


class OrtValue:
    """A tensor, or a list of them, whose memory may be shared with a NumPy array."""

    __slots__ = ("__weakref__", "_data")

    def __init__(self, ortvalue: OrtValue, numpy_obj: Array | None = None) -> None:
        if not isinstance(ortvalue, OrtValue):
            raise ValueError("`Provided ortvalue` needs to be of type `onnxruntime.capi.onnxruntime_pybind11_state.OrtValue`")
        self._data: Array | list[Array] = ortvalue._data

    @classmethod
    def _holding(cls, data: Array | list[Array]) -> OrtValue:
        value = cls.__new__(cls)
        value._data = data
        return value

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj: Array, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1) -> OrtValue:
        """Shares the array's memory if that is contiguous, otherwise holds a copy."""
        require_host(device_type)
        if not isinstance(numpy_obj, np.ndarray) or numpy_obj.dtype.kind in "OUST":
            raise RuntimeError("Creation of OrtValues is currently only supported from non-string numpy arrays")
        spelled_dtype(numpy_obj.dtype)
        native = numpy_obj.astype(numpy_obj.dtype.newbyteorder("="), copy=False)
        return cls._holding(np.asarray(native, order="C"))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: Array, /, onnx_element_type: int) -> OrtValue:
        """The array's bytes as elements of a type that NumPy lacks."""
        return cls._holding(np.ascontiguousarray(data).view(dtype_of(spelled_number(onnx_element_type))))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: object,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """A tensor with elements yet to be written."""
        require_host(device_type)
        if not isinstance(shape, Iterable) or isinstance(shape, (str, bytes)):
            raise TypeError(f"the shape {shape!r} was given; a sequence of int is wanted")
        dtype = dtype_from(element_type)
        if dtype.kind in "OUST":
            raise RuntimeError("Creation of OrtValues is currently only supported from non-string numpy arrays")
        sizes = tuple(int(size) for size in shape)
        if any(size < 0 for size in sizes):
            raise RuntimeError(f"[ONNXRuntimeError] : 1 : FAIL : Tensor shape.Size() must be >= 0; the shape is {sizes}")
        return cls._holding(np.zeros(sizes, dtype))

    @classmethod
    def ort_value_from_sparse_tensor(cls, sparse_tensor: object) -> NoReturn:
        """Raises: there are no sparse tensors."""
        raise RuntimeError("sparse tensors are not supported; give a dense array")

    def as_sparse_tensor(self) -> NoReturn:
        """Raises: there are no sparse tensors."""
        raise RuntimeError("sparse tensors are not supported; this value is dense")

    @classmethod
    def from_dlpack(cls, data: Any, /) -> OrtValue:
        """Shares the memory of what exports it by the DLPack protocol."""
        return cls._holding(np.from_dlpack(data))

    def _tensor(self) -> Array:
        if isinstance(self._data, list):
            raise RuntimeError("this value is a sequence of tensors, not a tensor")
        return self._data

    def numpy(self) -> Array:
        """The tensor as an array on the same memory; RuntimeError for types that NumPy lacks."""
        return told(self._tensor())

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self._tensor().ctypes.data)

    def device_name(self) -> str:
        """Where the memory lies."""
        return "cpu"

    def shape(self) -> list[int]:
        """The sizes."""
        return list(self._tensor().shape)

    def data_type(self) -> str:
        """E.g. "tensor(float)"."""
        if isinstance(self._data, list):
            return f"seq({spelled_name(self._data[0].dtype.name) if self._data else 'tensor(float)'})"
        return "tensor(string)" if self._data.dtype.kind in "OUST" else spelled_name(self._data.dtype.name)

    def element_type(self) -> int:
        """ONNX's number of the element type."""
        return element_type(self.data_type())

    def tensor_size_in_bytes(self) -> int:
        """The bytes of all elements."""
        return int(self._tensor().nbytes)

    def has_value(self) -> bool:
        """Always true."""
        return True

    def is_tensor(self) -> bool:
        """Whether it is one tensor."""
        return isinstance(self._data, np.ndarray)

    def is_sparse_tensor(self) -> bool:
        """Always false."""
        return False

    def is_tensor_sequence(self) -> bool:
        """Whether it is a list of tensors."""
        return isinstance(self._data, list)

    def update_inplace(self, data: Array | OrtValue) -> None:
        """Overwrites the memory with the array's bytes; RuntimeError if there are more or fewer."""
        if isinstance(data, OrtValue):
            data = data._tensor()
        if not isinstance(data, np.ndarray):
            raise TypeError("data must be a numpy.ndarray or an OrtValue.")
        target = self._tensor()
        if data.size != target.size or data.dtype.itemsize != target.dtype.itemsize:
            raise RuntimeError("The input size of numpy arrays does not match the size of the OrtValue.")
        # Elements move as bytes: the value keeps its type, as with ONNX Runtime.
        source = np.ascontiguousarray(data.astype(data.dtype.newbyteorder("="), copy=False))
        target.reshape(-1)[...] = source.reshape(-1).view(target.dtype)

    def to_dlpack(self) -> Any:
        """A DLPack capsule on the same memory."""
        return self._tensor().__dlpack__()

    def __dlpack__(self, *, stream: object = None) -> Any:
        return self._tensor().__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        array = self.numpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __reduce__(self) -> NoReturn:
        raise TypeError("cannot pickle 'OrtValue' object")

    def __copy__(self) -> OrtValue:
        return self._holding(self._data)

    def _get_c_value(self) -> OrtValue:
        return self

    @property
    def _ortvalue(self) -> OrtValue:
        return self


def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: object = None) -> None:
    """Copies each tensor's elements into the one at the same place."""
    for source, target in zip(src, dst, strict=True):
        target.update_inplace(source)


def array_at(address: int, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """The memory at an address as an array; the caller vouches for it, as ONNX Runtime's callers do."""
    sizes = tuple(int(size) for size in shape)
    size = math.prod(sizes) * dtype.itemsize
    if size == 0:
        return np.empty(sizes, dtype)
    memory = memoryview((ctypes.c_char * size).from_address(address)).cast("B")
    array: Array = np.frombuffer(memory, dtype).reshape(sizes)
    return array
