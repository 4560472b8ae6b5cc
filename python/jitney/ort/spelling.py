"""Element types as ONNX spells them in `NodeArg.type`, and NumPy's for them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from jitney.dtypes import numpy_dtype

NAMES: Final[dict[str, tuple[int, str]]] = {
    "tensor(float)": (1, "float32"),
    "tensor(uint8)": (2, "uint8"),
    "tensor(int8)": (3, "int8"),
    "tensor(uint16)": (4, "uint16"),
    "tensor(int16)": (5, "int16"),
    "tensor(int32)": (6, "int32"),
    "tensor(int64)": (7, "int64"),
    "tensor(string)": (8, "object"),
    "tensor(bool)": (9, "bool"),
    "tensor(float16)": (10, "float16"),
    "tensor(double)": (11, "float64"),
    "tensor(uint32)": (12, "uint32"),
    "tensor(uint64)": (13, "uint64"),
    "tensor(bfloat16)": (16, "bfloat16"),
    "tensor(float8e4m3fn)": (17, "float8_e4m3fn"),
    "tensor(float8e4m3fnuz)": (18, "float8_e4m3fnuz"),
    "tensor(float8e5m2)": (19, "float8_e5m2"),
    "tensor(float8e5m2fnuz)": (20, "float8_e5m2fnuz"),
    "tensor(uint4)": (21, "uint4"),
    "tensor(int4)": (22, "int4"),
    "tensor(float4e2m1)": (23, "float4_e2m1fn"),
    "tensor(float8e8m0)": (24, "float8_e8m0fnu"),
    "tensor(uint2)": (25, "uint2"),
    "tensor(int2)": (26, "int2"),
}
"""ONNX's number and NumPy's (or ml_dtypes') name."""

_BY_NUMBER: Final = {number: spelled for spelled, (number, _) in NAMES.items()}
_BY_NUMPY: Final = {name: spelled for spelled, (_, name) in NAMES.items() if name != "object"}


def spelled_number(number: int) -> str:
    """The spelling of ONNX's number for an element type."""
    return _BY_NUMBER.get(number, f"tensor({number})")


def spelled_name(name: str) -> str:
    """The spelling of the type that NumPy or ml_dtypes calls `name`."""
    return _BY_NUMPY.get(name, f"tensor({name})")


def spelled_dtype(dtype: np.dtype[Any]) -> str:
    """The spelling of a NumPy type; RuntimeError, as with ONNX Runtime, for one that has none."""
    if dtype.kind in "OUST":
        return "tensor(string)"
    spelled = _BY_NUMPY.get(dtype.name)
    if spelled is None or dtype.num >= _FIRST_USER_TYPE:
        raise RuntimeError(f"Numpy_type {dtype.num} can't be converted to MLDataType.")
    return spelled


_FIRST_USER_TYPE: Final = 256
"""NumPy numbers types of other packages, such as ml_dtypes' bfloat16, from here on."""


def told(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array as NumPy knows it. For types that NumPy lacks RuntimeError, as with ONNX Runtime, but for one, told as bytes."""
    if array.dtype.num < _FIRST_USER_TYPE:
        return array
    if array.dtype.name == "float8_e4m3fn":
        return array.view(np.uint8)
    raise RuntimeError(f"No corresponding Numpy type for Tensor Type. {array.dtype.name}")


def element_type(spelled: str) -> int:
    """ONNX's number of the element type."""
    return NAMES[spelled][0]


def dtype_of(spelled: str) -> np.dtype[Any]:
    """NumPy's type for the spelling."""
    return numpy_dtype(NAMES[spelled][1])


def dtype_from(given: object) -> np.dtype[Any]:
    """The dtype that a caller means by a NumPy type, a dtype, its name or ONNX's number."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        spelled = _BY_NUMBER.get(int(given))
        if spelled is None:
            raise RuntimeError(f"{given} is no ONNX element type")
        return dtype_of(spelled)
    dtype: np.dtype[Any] = np.dtype(given)  # type: ignore[call-overload]
    return dtype
