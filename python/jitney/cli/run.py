"""`jitney run`: one inference on files."""

from __future__ import annotations

import time
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from jitney.cli import console
from jitney.cli.images import ImageOptions
from jitney.cli.options import Backend, Json, ModelPath, Prefer, Threads, parse_dims, parse_numbers
from jitney.cli.tensors import read_inputs, write_outputs
from jitney.errors import InvalidInput
from jitney.session import Session

_SHOWN = 8
_JSON_LIMIT = 10_000


def command(
    model: ModelPath,
    inputs: Annotated[
        list[str],
        typer.Option(
            "--input", "-i", metavar="NAME=FILE", help="An input from .npy, .npz or a picture. Repeatable.", show_default=False
        ),
    ],
    outputs: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="NAME=FILE", help="Write an output to .npy, or all to .npz.", show_default=False),
    ] = None,
    size: Annotated[
        str | None, typer.Option("--size", metavar="WxH", help="Resize pictures (bilinear). Default: the model's size.")
    ] = None,
    mean: Annotated[
        str | None, typer.Option("--mean", metavar="M[,M,M]", help="Subtracted from pixels, which are 0–255.")
    ] = None,
    std: Annotated[str | None, typer.Option("--std", metavar="S[,S,S]", help="Pixels are divided by this afterwards.")] = None,
    rgb: Annotated[
        bool | None,
        typer.Option("--rgb/--bgr", help="Order of the channels. Default: as converted for, or RGB.", show_default=False),
    ] = None,
    nchw: Annotated[
        bool | None,
        typer.Option("--nchw/--nhwc", help="Layout of pictures. Default: as the model's shape shows.", show_default=False),
    ] = None,
    threads: Threads = 0,
    backend: Backend = "auto",
    prefer: Prefer = "memory",
    json: Json = False,
) -> None:
    """Run a model on files and show or save what comes out."""
    options = ImageOptions(
        size=_size(size),
        mean=parse_numbers(mean, "--mean"),
        std=parse_numbers(std, "--std"),
        rgb=rgb,
        layout=None if nchw is None else ("nchw" if nchw else "nhwc"),
    )
    with Session(model, backend=backend, threads=threads, prefer=prefer) as session:
        fed = read_inputs(inputs, session.inputs, options, session.metadata)
        start = time.perf_counter()
        results = session.run(fed)
        seconds = time.perf_counter() - start
        written = write_outputs(outputs or (), results, session.outputs)
    for path in written:
        console.note(f"wrote {path}")
    if json:
        described = {name: _as_json(array) for name, array in results.items()}
        console.emit_json({"outputs": described, "milliseconds": seconds * 1e3})
        return
    for name, array in results.items():
        console.line(_summary(name, array))


def _size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    dims = parse_dims(text, f"--size {text}")
    if len(dims) != 2 or 0 in dims:
        raise InvalidInput(f"--size {text} is no width and height", hint="write --size 640x480")
    return dims[0], dims[1]


def _plain(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Types that NumPy cannot print by itself, as float32."""
    return array if array.dtype.kind in "biufc" else array.astype(np.float32)


def _as_json(array: npt.NDArray[Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {"dtype": array.dtype.name, "shape": list(array.shape)}
    plain = _plain(array)
    if plain.dtype.kind == "c":
        plain = np.stack([plain.real, plain.imag], axis=-1)
    if array.size <= _JSON_LIMIT:
        entry["values"] = plain.tolist()
    elif plain.dtype.kind != "b":
        entry |= {"min": plain.min().item(), "max": plain.max().item(), "mean": float(plain.mean(dtype=np.float64))}
    return entry


def _summary(name: str, array: npt.NDArray[Any]) -> str:
    plain = _plain(array)
    text = f"{name}: {array.dtype.name} {list(array.shape)}"
    if array.size == 0:
        return text
    if plain.dtype.kind in "iuf" and array.size > _SHOWN:
        text += f"  min {plain.min():.6g}  max {plain.max():.6g} at {_position(plain)}  mean {plain.mean(dtype=np.float64):.6g}"
    shown = " ".join(f"{value:.6g}" if plain.dtype.kind == "f" else str(value) for value in plain.ravel()[:_SHOWN])
    return f"{text}\n  {shown}{' …' if array.size > _SHOWN else ''}"


def _position(array: npt.NDArray[Any]) -> list[int]:
    return [int(index) for index in np.unravel_index(int(array.argmax()), array.shape)]
