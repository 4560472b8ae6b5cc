"""`jitney verify`: does a converted model still give what its ONNX model gives?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jitney.cli import console
from jitney.cli.options import Json, ModelPath, OpenShapes, parse_open_shapes
from jitney.errors import InvalidInput
from jitney.extras import require
from jitney.model import Model


def command(
    model: ModelPath,
    source: Annotated[Path, typer.Argument(metavar="MODEL.onnx", help="The model that it was made from.", show_default=False)],
    shape: OpenShapes = None,
    sample: Annotated[
        Path | None, typer.Option("--sample", metavar="FILE", help="Real inputs: .npz, .npy or a picture.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Check all weights, then compare the results of both models. Exit status 1 if they differ."""
    if (model.suffix, source.suffix) == (".onnx", ".jny"):
        raise InvalidInput("the ONNX model comes second", hint=f"jitney verify {source} {model}")
    require("onnx", "convert", "verifying a model")
    from jitney.converter import verify

    Model(model).check_weights()
    result = verify(model, source, shapes=parse_open_shapes(shape), sample=sample)
    console.verdict(result, json)
