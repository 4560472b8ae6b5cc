"""`jitney convert`: ONNX in, .jny out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import jitney
from jitney.cli import console
from jitney.cli.options import Json, parse_dims
from jitney.errors import InvalidInput


def command(
    model: Annotated[Path, typer.Argument(metavar="MODEL.onnx", help="The model to convert.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: beside the model, with suffix .jny.", show_default=False)
    ] = None,
    shape: Annotated[
        list[str] | None,
        typer.Option("--shape", metavar="NAME=D0,D1,…", help="Fix an input's sizes, e.g. x=1,3,224,224. Repeatable.", show_default=False),
    ] = None,
    dynamic_batch: Annotated[bool, typer.Option("--dynamic-batch", help="Open a batch size that the model fixes.")] = False,
    verify: Annotated[bool, typer.Option("--verify/--no-verify", help="Compare both models' results.")] = True,
    sample: Annotated[
        Path | None, typer.Option("--sample", metavar="FILE", help="Real inputs to verify with: .npz or a picture.", show_default=False)
    ] = None,
    stop_after: Annotated[
        str | None, typer.Option("--stop-after", metavar="PASS", help="Run the passes up to this one.", show_default=False)
    ] = None,
    dump: Annotated[
        Path | None, typer.Option("--dump", metavar="DIR", help="Write the graph after each pass.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Convert an ONNX model and check that the result gives the same numbers."""
    with console.progress() as bar:
        report = jitney.convert(
            model,
            output,
            shapes=_shapes(shape),
            dynamic_batch=dynamic_batch,
            verify=verify,
            sample=sample,
            stop_after=stop_after,
            dump=dump,
            progress=bar,
        )
    if json:
        console.emit_json(report.to_dict())
    else:
        console.line(str(report))


def _shapes(arguments: list[str] | None) -> dict[str, tuple[int, ...]] | None:
    """{input: shape}; names may contain "=", so the last one separates. The converter knows which inputs there are."""
    if not arguments:
        return None
    shapes: dict[str, tuple[int, ...]] = {}
    for argument in arguments:
        name, equals, dims = argument.rpartition("=")
        if not equals:
            raise InvalidInput(f"--shape {argument} does not name an input", hint="write NAME=1,3,224,224")
        if name in shapes:
            raise InvalidInput(f"--shape is given twice for input '{name}'")
        shapes[name] = parse_dims(dims, argument)
    return shapes
