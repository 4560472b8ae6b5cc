"""`jitney convert`: ONNX in, .jny out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import jitney
from jitney.cli import console
from jitney.cli.options import Json, OpenShapes, parse_formats, parse_open_shapes, parse_pairs
from jitney.errors import InvalidInput
from jitney.extras import require


def command(
    model: Annotated[Path, typer.Argument(metavar="MODEL.onnx", help="The model to convert.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Default: MODEL.jny.", show_default=False),
    ] = None,
    shape: OpenShapes = None,
    dynamic_batch: Annotated[bool, typer.Option("--dynamic-batch", help="Open a batch size that the model fixes.")] = False,
    state: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="INPUT=OUTPUT",
            help="Keep this output for the next run, as its input. Repeatable.",
            show_default=False,
        ),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="NAME=FORMAT",
            help="Fold pre-processing in: x=uint8,nhwc,mean=…,std=… Repeatable.",
            show_default=False,
        ),
    ] = None,
    verify: Annotated[bool, typer.Option("--verify/--no-verify", help="Compare both models' results.")] = True,
    sample: Annotated[
        Path | None,
        typer.Option("--sample", metavar="FILE", help="Inputs to verify with: .npz, .npy or a picture.", show_default=False),
    ] = None,
    verify_seconds: Annotated[
        float, typer.Option("--verify-seconds", metavar="S", help="How long the ONNX model may run for the comparison.")
    ] = 60.0,
    stop_after: Annotated[
        str | None, typer.Option("--stop-after", metavar="PASS", help="Run the passes up to this one.", show_default=False)
    ] = None,
    dump: Annotated[
        Path | None, typer.Option("--dump", metavar="DIR", help="Write the graph after each pass.", show_default=False)
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only list what cannot be converted. Exit status 1 if anything.")
    ] = False,
    bisect: Annotated[
        bool, typer.Option("--bisect", help="Only find the pass and the node where results go wrong. Exit status 1 if any.")
    ] = False,
    json: Json = False,
) -> None:
    """Convert an ONNX model and check that the result gives the same numbers."""
    formats = parse_formats(inputs)
    if check or bisect:
        if formats:
            raise InvalidInput(
                f"--input does not go with --{'check' if check else 'bisect'}",
                hint="leave it out: it is no part of the ONNX model",
            )
        _look(model, check, shape, dynamic_batch, sample, json)
        return
    with console.progress() as bar:
        report = jitney.convert(
            model,
            output,
            shapes=parse_open_shapes(shape),
            dynamic_batch=dynamic_batch,
            states=parse_pairs(state, "--state"),
            inputs=formats,
            verify=verify,
            sample=sample,
            verify_seconds=verify_seconds,
            stop_after=stop_after,
            dump=dump,
            progress=bar,
        )
    if json:
        console.emit_json(report.to_dict())
    else:
        console.line(str(report))


def _look(model: Path, check: bool, shape: list[str] | None, dynamic_batch: bool, sample: Path | None, json: bool) -> None:
    """Says what is wrong, without writing a file."""
    require("onnx", "convert", "converting a model")
    from jitney import converter

    shapes = parse_open_shapes(shape)
    result: converter.CheckReport | converter.Bisection
    if check:
        result = converter.check(model, shapes=shapes, dynamic_batch=dynamic_batch)
    else:
        result = converter.bisect(model, shapes=shapes, dynamic_batch=dynamic_batch, sample=sample)
    console.verdict(result, json)
