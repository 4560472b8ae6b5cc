"""Turns ONNX tensors (dense, sparse, in external files) into NumPy arrays, refusing what does not add up."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from jitney.errors import InvalidModel, IoError, Unsupported

Array = npt.NDArray[np.generic]

_PACKED = {TensorProto.UINT4, TensorProto.INT4, TensorProto.FLOAT4E2M1} | {
    getattr(TensorProto, name) for name in ("UINT2", "INT2") if hasattr(TensorProto, name)
}


def dtype_name(dtype: int) -> str:
    """ONNX's name of an element type, for messages."""
    try:
        return str(TensorProto.DataType.Name(dtype)).lower()
    except ValueError:
        return f"type number {dtype}"


def to_array(tensor: onnx.TensorProto, folder: Path | None) -> Array:
    """The tensor's elements. `folder` is where external data files may lie; None if the model came without a path."""
    label = f"tensor '{tensor.name}'" if tensor.name else "a tensor without a name"
    if tensor.data_type == TensorProto.STRING:
        raise Unsupported(
            f"{label} holds strings",
            hint="tensors of strings have no place in the runtime; remove text processing from the model",
        )
    if tensor.data_type not in TensorProto.DataType.values() or tensor.data_type == TensorProto.UNDEFINED:
        raise InvalidModel(f"{label} has the unknown element type {tensor.data_type}")
    if any(dim < 0 for dim in tensor.dims):
        raise InvalidModel(f"{label} has a negative size in its shape {list(tensor.dims)}")
    try:
        if tensor.data_location == TensorProto.EXTERNAL:
            return _external(tensor, folder, label)
        if tensor.HasField("raw_data") and tensor.data_type not in _PACKED:
            return _from_bytes(tensor, tensor.raw_data, label)
        return np.asarray(numpy_helper.to_array(tensor))
    except (ValueError, TypeError) as error:
        raise InvalidModel(f"the data of {label} does not fit its type and shape {list(tensor.dims)}: {error}") from error


def sparse_to_array(sparse: onnx.SparseTensorProto, folder: Path | None) -> Array:
    """The dense form of a sparse tensor."""
    label = f"sparse tensor '{sparse.values.name}'"
    values = to_array(sparse.values, folder)
    indices = to_array(sparse.indices, folder)
    shape = tuple(sparse.dims)
    if any(dim < 0 for dim in shape) or math.prod(shape) > 1 << 31:
        raise InvalidModel(f"{label} has the shape {list(shape)}, which is negative or too large to be made dense")
    dense = np.zeros(shape, values.dtype)
    try:
        if indices.ndim == 1:
            dense.reshape(-1)[indices.astype(np.int64)] = values
        else:
            dense[tuple(indices.astype(np.int64).T)] = values
    except (IndexError, ValueError) as error:
        raise InvalidModel(
            f"{label} has indices outside its shape {list(shape)} or as many values as do not fit them: {error}"
        ) from error
    return dense


def _from_bytes(tensor: onnx.TensorProto, data: bytes | npt.NDArray[np.uint8], label: str) -> Array:
    dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
    expected = math.prod(tensor.dims) * dtype.itemsize
    if len(data) != expected:
        raise InvalidModel(f"{label} of shape {list(tensor.dims)} needs {expected} bytes of data but has {len(data)}")
    if tensor.data_type == TensorProto.BOOL:
        # Any byte but 0 is true; in memory it must be 1.
        return np.asarray(np.frombuffer(data, np.uint8) != 0).reshape(tuple(tensor.dims))
    array = np.frombuffer(data, np.uint8).view(dtype.newbyteorder("<") if dtype.itemsize > 1 and dtype.kind in "iufc" else dtype)
    return np.asarray(array.reshape(tuple(tensor.dims)))


def _external(tensor: onnx.TensorProto, folder: Path | None, label: str) -> Array:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise InvalidModel(
            f"{label} lies in the external file '{location}'", hint="convert from the model's path, so that the file can be found"
        )
    path = (folder / location).resolve()
    if not location or not path.is_relative_to(folder.resolve()):
        raise InvalidModel(
            f"{label} points to '{location}', outside the model's folder", hint="external data must lie beside the model"
        )
    try:
        if not path.is_file():
            raise IoError(
                f"there is no file '{folder / location}', in which {label} lies",
                hint="copy it beside the model; models of some exporters consist of several files",
            )
        size = path.stat().st_size
        offset, length = int(entries.get("offset", "0")), int(entries.get("length", "-1"))
    except IoError:
        raise
    except (OSError, ValueError) as error:
        raise InvalidModel(f"the external data of {label} cannot be read: {error}") from error
    if length < 0:
        length = size - offset
    if offset < 0 or length < 0 or offset + length > size:
        raise InvalidModel(f"{label} lies at bytes {offset} to {offset + length} of '{location}', which has {size}")
    mapped = np.memmap(path, np.uint8, "r", offset, (length,)) if length else np.zeros(0, np.uint8)
    if tensor.data_type in _PACKED:
        inline = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, raw_data=mapped.tobytes())
        return np.asarray(numpy_helper.to_array(inline))
    return _from_bytes(tensor, mapped, label)
