"""How a converted model takes an input, where that is not how the ONNX model does: pre-processing that was folded in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from jitney.errors import InvalidInput

_PREFIX: Final = "jitney.input."
_OWN: Final = ";model="

_WORDS: Final = {
    "uint8": "dtype",
    "float32": "dtype",
    "nchw": "layout",
    "nhwc": "layout",
    "rgb2bgr": "channels",
    "bgr2rgb": "channels",
}
_LISTS: Final = ("mean", "scale", "std")
_MOST: Final = 3.4028234663852886e38
_EXAMPLE: Final = "uint8,nhwc,mean=123.7,116.3,103.5,std=58.4,57.1,57.4"


@dataclass(frozen=True)
class InputFormat:
    """What an input shall take. The model then gets (x − mean) · scale, or (x − mean) / std, of each element x.

    Lists have one number, or one per channel, in the order of the model's own channels."""

    dtype: str = ""
    """"uint8" or "float32"; empty: as the model has it."""
    layout: str = ""
    """"nhwc" or "nchw"; empty: as the model has it."""
    channels: str = ""
    """"rgb2bgr": RGB is fed to a model that takes BGR; "bgr2rgb": the other way round; empty: as the model has them."""
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    std: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for kind in ("dtype", "layout", "channels"):
            word = getattr(self, kind)
            allowed = [name for name, of in _WORDS.items() if of == kind]
            if word not in ("", *allowed):
                raise InvalidInput(f"{kind}={word!r} is no {kind} of an input; {' or '.join(allowed)} is wanted")
        for name in _LISTS:
            object.__setattr__(self, name, _numbers(name, getattr(self, name)))
        if self.scale and self.std:
            raise InvalidInput("an input has both scale and std", hint="give one: std is what scale is the reciprocal of")
        if 0.0 in self.std:
            raise InvalidInput("std contains 0, which nothing can be divided by")
        for name, numbers in (("mean", self.mean), ("scale", self.scale), ("std", [1 / number for number in self.std])):
            if any(abs(number) > _MOST for number in numbers):
                raise InvalidInput(f"{name}={getattr(self, name)} is beyond what float32 can compute with")

    @classmethod
    def parse(cls, text: str) -> InputFormat:
        """From "uint8,nhwc,mean=123.7,116.3,103.5,scale=0.017"."""
        words: dict[str, str] = {}
        lists: dict[str, list[float]] = {}
        open_list: list[float] | None = None
        for part in text.split(","):
            word, equals, value = part.strip().partition("=")
            number = _number(word) if not equals else None
            if number is not None and open_list is not None:
                open_list.append(number)
            elif equals and word in _LISTS and word not in lists and (number := _number(value)) is not None:
                open_list = lists[word] = [number]
            elif not equals and word in _WORDS and _WORDS[word] not in words:
                words[_WORDS[word]], open_list = word, None
            else:
                raise InvalidInput(f"'{part.strip()}' in '{text}' {_fault(word, equals, {*words, *lists})}", hint=_advice())
        mean, scale, std = (tuple(lists.get(name, ())) for name in _LISTS)
        return cls(words.get("dtype", ""), words.get("layout", ""), words.get("channels", ""), mean, scale, std)

    def __str__(self) -> str:
        """As `parse` reads it."""
        words = [word for word in (self.dtype, self.layout, self.channels) if word]
        return ",".join(
            words + [f"{name}={','.join(f'{x:.9g}' for x in getattr(self, name))}" for name in _LISTS if getattr(self, name)]
        )


def _numbers(name: str, given: object) -> tuple[float, ...]:
    items = tuple(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else (given,)
    try:
        numbers = tuple(float(item) for item in items)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name}={given!r} was given; a number, or a list of one per channel, is wanted") from None
    if not all(map(math.isfinite, numbers)):
        raise InvalidInput(f"{name}={given!r} contains what is no finite number")
    return numbers


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _fault(word: str, equals: str, seen: set[str]) -> str:
    kind = word if equals else _WORDS.get(word, "")
    if kind in seen:
        return f"says the {kind} a second time"
    return "is no number" if equals and word in _LISTS else "is nothing that is known of an input"


def _advice() -> str:
    return f"words are {', '.join(_WORDS)}; lists are {', '.join(f'{name}=…' for name in _LISTS)}: {_EXAMPLE}"


def format_metadata(name: str, form: InputFormat, own_layout: str) -> dict[str, str]:
    """The entry of a file's metadata; `own_layout` is that of the ONNX model, or empty."""
    return {f"{_PREFIX}{name}": f"{form}{_OWN}{own_layout}" if own_layout else str(form)}


def input_formats(metadata: Mapping[str, str]) -> dict[str, tuple[InputFormat, str]]:
    """By input: its format, and the layout that the ONNX model has ("" where that does not matter)."""
    found: dict[str, tuple[InputFormat, str]] = {}
    for key, value in metadata.items():
        if key.startswith(_PREFIX):
            text, _, own = value.partition(_OWN)
            found[key.removeprefix(_PREFIX)] = (InputFormat.parse(text), own)
    return found
