"""Decodes pictures that a model takes in a file's encoding, through OpenCV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from jitney.errors import InvalidInput
from jitney.extras import require
from jitney.inputs import Array
from jitney.model import TensorInfo

_PREFIX: Final = "jitney.picture."


def picture_formats(metadata: Mapping[str, str]) -> dict[str, str]:
    """Pixel format (RGB, BGR or Grayscale) by the name of the input, for inputs that take encoded pictures."""
    return {key.removeprefix(_PREFIX): pixels for key, pixels in metadata.items() if key.startswith(_PREFIX)}


def with_pixels(
    inputs: Mapping[str, Array] | Array, formats: Mapping[str, str], wanted: Sequence[TensorInfo]
) -> Mapping[str, Array] | Array:
    """The inputs with every encoded picture, a 1-D array of uint8, decoded to [height, width, channels]."""
    if isinstance(inputs, Mapping):
        return {name: _pixels(name, value, formats[name]) if name in formats else value for name, value in inputs.items()}
    if len(wanted) != 1 or wanted[0].name not in formats:
        return inputs
    return {wanted[0].name: _pixels(wanted[0].name, inputs, formats[wanted[0].name])}


def _pixels(name: str, value: Any, pixels: str) -> Any:
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype != np.uint8:
        return value  # decoded already, or no picture; the check of inputs says so
    require("cv2", "vision", f"decoding the picture given for input '{name}'")
    import cv2

    encoded: Any = np.ascontiguousarray(value)
    try:
        bgr: Any = cv2.imdecode(encoded, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    except cv2.error:
        bgr = None
    if bgr is None:
        raise InvalidInput(
            f"what was given for input '{name}' is no picture that can be decoded ({value.size} bytes)",
            hint="give the bytes of a BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP file, or pixels [height, width, channels]",
        )
    if pixels == "Grayscale":
        return cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY)[..., np.newaxis]
    return bgr if pixels == "BGR" else cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB)
