"""Options that several commands share, and the parsing of NAME=VALUE arguments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from jitney.errors import InvalidInput
from jitney.input_format import InputFormat
from jitney.inputs import check_names
from jitney.model import TensorInfo

ModelPath = Annotated[Path, typer.Argument(metavar="MODEL.jny", help="The converted model.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Threads = Annotated[int, typer.Option("--threads", min=0, help="Threads per run; 0: one per fast core.")]
Backend = Annotated[str, typer.Option("--backend", metavar="NAME", help="auto, cpu or reference.")]
Prefer = Annotated[
    str, typer.Option("--prefer", metavar="WHAT", help="memory, or speed: weights may be kept in larger forms that save work.")
]
OpenShapes = Annotated[
    list[str] | None,
    typer.Option("--shape", metavar="NAME=D0,D1,…", help="Fix an input's sizes: x=1,3,224,224. Repeatable.", show_default=False),
]
ShapeList = Annotated[
    list[str] | None,
    typer.Option(
        "--shape", metavar="NAME=D0,D1,…", help="Shape of an input, e.g. x=1,3,224,224. Repeatable.", show_default=False
    ),
]


def split_named(argument: str, known: Sequence[TensorInfo], kind: str) -> tuple[str, str]:
    """(name, value) of "name=value"; the name may be left out if the model has only one such tensor."""
    by_length = sorted(known, key=lambda info: -len(info.name))
    for info in by_length:  # names may contain "=", values too
        if argument.startswith(info.name + "="):
            return info.name, argument[len(info.name) + 1 :]
    name, equals, value = argument.partition("=")
    if not equals and len(known) == 1:
        return known[0].name, argument
    if not equals:
        names = ", ".join(info.name for info in known)
        raise InvalidInput(f"'{argument}' does not say which {kind} it is for", hint=f"write NAME={argument}; names are: {names}")
    check_names([name], known, kind)
    return name, value


def parse_dims(text: str, argument: str) -> tuple[int, ...]:
    """Dims from "1,3,224,224" (or "1x3x224x224"); an empty text is a scalar's shape."""
    parts = text.replace("x", ",").split(",") if text else []
    try:
        dims = tuple(int(part) for part in parts)
    except ValueError:
        raise InvalidInput(f"'{argument}' is no shape", hint="write NAME=1,3,224,224, with a number for each size") from None
    if any(dim < 0 for dim in dims):
        raise InvalidInput(f"'{argument}' has a negative size")
    return dims


def parse_shapes(arguments: Sequence[str] | None, known: Sequence[TensorInfo]) -> dict[str, tuple[int, ...]]:
    """{input: shape} from repeated --shape options."""
    shapes: dict[str, tuple[int, ...]] = {}
    for argument in arguments or ():
        name, text = split_named(argument, known, "input")
        if name in shapes:
            raise InvalidInput(f"--shape is given twice for input '{name}'")
        shapes[name] = parse_dims(text, argument)
    return shapes


def parse_open_shapes(arguments: list[str] | None) -> dict[str, tuple[int, ...]] | None:
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


def parse_pairs(arguments: list[str] | None, option: str) -> dict[str, str]:
    """{name: other name} from repeated NAME=OTHER options."""
    pairs: dict[str, str] = {}
    for argument in arguments or ():
        name, equals, other = argument.partition("=")
        if not equals or not name or not other:
            raise InvalidInput(f"{option} {argument} is no pair of names", hint=f"write {option} INPUT=OUTPUT")
        if name in pairs:
            raise InvalidInput(f"{option} is given twice for '{name}'")
        pairs[name] = other
    return pairs


def parse_formats(arguments: list[str] | None) -> dict[str, InputFormat]:
    """{input: format} from repeated NAME=FORMAT options. The converter knows which inputs there are."""
    formats: dict[str, InputFormat] = {}
    for argument in arguments or ():
        name, equals, text = argument.partition("=")
        if not equals or not name:
            raise InvalidInput(
                f"--input {argument} does not name an input", hint="write --input NAME=uint8,nhwc,mean=127.5,std=127.5"
            )
        if name in formats:
            raise InvalidInput(f"--input is given twice for '{name}'")
        formats[name] = InputFormat.parse(text)
    return formats


def parse_numbers(text: str | None, option: str) -> tuple[float, ...] | None:
    """Numbers from "0.5" or "104,117,123"."""
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(f"{option}={text} is no list of numbers", hint=f"write {option} 104,117,123") from None
