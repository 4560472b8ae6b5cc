"""Turns a picture file into the array that a model wants."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jitney.errors import InvalidInput, IoError
from jitney.extras import require
from jitney.input_format import InputFormat
from jitney.model import TensorInfo

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff")


@dataclass(frozen=True)
class ImageOptions:
    """How pixels become numbers: y = (x − mean) / std, where x is 0 … 255."""

    size: tuple[int, int] | None = None
    """(width, height); None: the model's own if it is fixed, else the picture's."""
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    rgb: bool | None = None
    """None: as the model was converted for, which is RGB unless --input said bgr2rgb."""
    layout: str | None = None
    """"nchw" or "nhwc"; None: as the model's shape shows."""

    def given(self) -> list[str]:
        """The options, as the command line spells them, that differ from their defaults."""
        named = {"--size": self.size, "--mean": self.mean, "--std": self.std, f"--{self.layout}": self.layout}
        return [option for option, value in named.items() if value is not None] + (["--bgr"] if self.rgb is False else [])


def load_image(path: Path, info: TensorInfo, options: ImageOptions, form: InputFormat | None = None) -> npt.NDArray[Any]:
    """The picture as a batch of one, in the layout and dtype of the model's input, whose format may be known."""
    require("cv2", "vision", "reading a picture")
    import cv2

    layout, channels, height, width = _geometry(info, options)
    if not path.is_file():
        raise IoError(f"there is no file {path}", hint="check the spelling and the current folder")
    pixels = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_GRAYSCALE if channels == 1 else cv2.IMREAD_COLOR)
    if pixels is None:
        raise InvalidInput(f"{path} is no picture that can be read", hint="is it damaged, or another kind of file?")
    rgb = options.rgb if options.rgb is not None else form is None or form.channels != "bgr2rgb"
    if channels != 1 and rgb:
        pixels = cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB)
    target = options.size or (width or pixels.shape[1], height or pixels.shape[0])
    if target != (pixels.shape[1], pixels.shape[0]):
        pixels = cv2.resize(pixels, target, interpolation=cv2.INTER_LINEAR)
    image = _scaled(pixels.reshape(target[1], target[0], channels), info, options, channels)
    if layout == "nchw":
        image = image.transpose(2, 0, 1)
    return np.ascontiguousarray(image[np.newaxis])


def _geometry(info: TensorInfo, options: ImageOptions) -> tuple[str, int, int | None, int | None]:
    """(layout, channels, height, width), the last two None where the model leaves them open."""
    shape = info.shape
    if shape is None or len(shape) != 4:
        raise InvalidInput(f"input '{info.name}' ({info}) is no picture", hint="give a .npy file")
    layout = _layout(shape, options.layout, info)
    channels, height, width = (shape[1], shape[2], shape[3]) if layout == "nchw" else (shape[3], shape[1], shape[2])
    if isinstance(channels, str):
        channels = 3
    if channels not in (1, 3):
        raise InvalidInput(f"as {layout}, input '{info.name}' ({info}) has {channels} channels; a picture has 1 or 3")
    return layout, channels, height if isinstance(height, int) else None, width if isinstance(width, int) else None


def _layout(shape: tuple[int | str, ...], wanted: str | None, info: TensorInfo) -> str:
    """The layout wanted, unless the shape contradicts it; the one that the shape shows if none is wanted."""
    first, last = shape[1] in (1, 3), shape[3] in (1, 3)
    shown = None if first == last else ("nchw" if first else "nhwc")
    if wanted is None and shown is None:
        raise InvalidInput(f"the shape of input '{info.name}' ({info}) does not show its layout", hint="add --nchw or --nhwc")
    if wanted is not None and shown is not None and wanted != shown:
        raise InvalidInput(f"--{wanted} was given, but input '{info.name}' ({info}) has its channels elsewhere")
    return wanted or shown or ""


def _scaled(pixels: npt.NDArray[Any], info: TensorInfo, options: ImageOptions, channels: int) -> npt.NDArray[Any]:
    if info.dtype == "uint8":
        if options.mean is not None or options.std is not None:
            raise InvalidInput(f"input '{info.name}' takes uint8 pixels; --mean and --std would make other numbers of them")
        return pixels
    if info.dtype not in ("float32", "float16", "float64"):
        raise InvalidInput(
            f"input '{info.name}' has dtype {info.dtype}, which pictures are not made into", hint="give a .npy file"
        )
    for option, numbers in (("--mean", options.mean), ("--std", options.std)):
        if numbers is not None and len(numbers) not in (1, channels):
            raise InvalidInput(f"{option} has {len(numbers)} numbers; 1 or {channels} are wanted")
    if options.std is not None and 0 in options.std:
        raise InvalidInput("--std contains 0, which nothing can be divided by")
    mean = np.asarray(options.mean if options.mean is not None else 0.0, np.float32)
    std = np.asarray(options.std if options.std is not None else 1.0, np.float32)
    return ((pixels.astype(np.float32) - mean) / std).astype(info.dtype)
