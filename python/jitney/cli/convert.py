"""`jitney convert`: ONNX in, .jny out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import jitney
from jitney.cli import console
from jitney.cli.options import Json, OpenShapes, parse_open_shapes


def command(
    model: Annotated[Path, typer.Argument(metavar="MODEL.onnx", help="The model to convert.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Default: MODEL.jny.", show_default=False),
    ] = None,
    shape: OpenShapes = None,
    dynamic_batch: Annotated[bool, typer.Option("--dynamic-batch", help="Open a batch size that the model fixes.")] = False,
    verify: Annotated[bool, typer.Option("--verify/--no-verify", help="Compare both models' results.")] = True,
    sample: Annotated[
        Path | None,
        typer.Option("--sample", metavar="FILE", help="Inputs to verify with: .npz, .npy or a picture.", show_default=False),
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
            shapes=parse_open_shapes(shape),
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
