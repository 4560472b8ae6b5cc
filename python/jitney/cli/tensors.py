"""Reads input tensors from files and writes output tensors to files."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt

from jitney.cli.images import SUFFIXES, ImageOptions, load_image
from jitney.cli.options import split_named
from jitney.errors import InvalidInput, IoError
from jitney.input_format import InputFormat, input_formats
from jitney.model import TensorInfo

Array = npt.NDArray[Any]


def read_inputs(
    arguments: Sequence[str], known: Sequence[TensorInfo], options: ImageOptions, metadata: Mapping[str, str] | None = None
) -> dict[str, Array]:
    """{input: array} from repeated --input options: NAME=FILE, or FILE alone (an .npz then holds inputs by name)."""
    formats = {name: form for name, (form, _) in input_formats(metadata or {}).items()}
    by_name = {info.name: info for info in known}
    arrays: dict[str, Array] = {}
    for argument in arguments:
        if Path(argument).suffix == ".npz" and "=" not in argument:
            loaded = _load_npz(Path(argument))
        else:
            name, text = split_named(argument, known, "input")
            loaded = {name: _load_one(Path(text), by_name[name], options, formats.get(name))}
        for name, array in loaded.items():
            if name in arrays:
                raise InvalidInput(f"input '{name}' is given twice")
            arrays[name] = array
    if options.given() and not any(Path(argument).suffix.lower() in SUFFIXES for argument in arguments):
        raise InvalidInput(f"no input is a picture, but {', '.join(options.given())} was given", hint="leave such options out")
    return arrays


def write_outputs(arguments: Sequence[str], arrays: Mapping[str, Array], known: Sequence[TensorInfo]) -> list[Path]:
    """Writes each result to its --output option: NAME=FILE.npy, or FILE.npz for all."""
    written: list[Path] = []
    for argument in arguments:
        if Path(argument).suffix == ".npz":
            path, chosen = Path(argument), dict(arrays)
        else:
            name, text = split_named(argument, known, "output")
            path, chosen = Path(text), {name: arrays[name]}
            if path.suffix != ".npy":
                raise InvalidInput(f"'{text}' does not end in .npy or .npz")
        try:
            with path.open("wb") as target:
                _save(target, path.suffix, chosen)
        except OSError as error:
            hint = "" if path.parent.is_dir() else f"make the folder first: mkdir -p {path.parent}"
            raise IoError(f"{path} cannot be written: {error.strerror}", hint=hint) from None
        written.append(path)
    return written


def _save(target: IO[bytes], suffix: str, arrays: dict[str, Array]) -> None:
    if suffix == ".npy":
        np.save(target, next(iter(arrays.values())))
        return
    with zipfile.ZipFile(target, "w") as archive:  # np.savez takes no array named "file"
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array)


def _load_one(path: Path, info: TensorInfo, options: ImageOptions, form: InputFormat | None) -> Array:
    suffix = path.suffix.lower()
    if suffix in SUFFIXES:
        return load_image(path, info, options, form)
    if suffix == ".npy":
        return cast(Array, _numpy_load(path))
    if suffix == ".npz":
        arrays = _load_npz(path)
        if info.name in arrays:
            return arrays[info.name]
        raise InvalidInput(f"{path} has no array named '{info.name}'; it has: {', '.join(arrays)}")
    raise InvalidInput(f"'{path}' is of no kind that can be read", hint=f"give .npy, .npz or a picture ({' '.join(SUFFIXES)})")


def _load_npz(path: Path) -> dict[str, Array]:
    with _numpy_load(path) as archive:
        try:
            return {name: archive[name] for name in archive.files}
        except ValueError as error:
            raise InvalidInput(f"{path} cannot be read: {error}") from None


def _numpy_load(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except OSError as error:
        raise IoError(f"{path} cannot be read: {error.strerror or error}", hint="check the path and its permissions") from None
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        # NumPy takes whatever it does not know for pickled objects, and advises to load them unsafely.
        reason = "it holds no array of numbers" if "pickle" in str(error) else str(error)
        raise InvalidInput(f"{path} is no NumPy file: {reason}", hint="write it with np.save or np.savez") from None
