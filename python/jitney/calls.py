"""Calls with arguments that do not fit: an error of Jitney's, with advice, in place of Python's bare one."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from jitney.errors import InvalidInput

Function = TypeVar("Function", bound=Callable[..., Any])


class WrongCall(InvalidInput, TypeError):
    """A function was called with arguments that it does not take."""


def advised(advice: str = "") -> Callable[[Function], Function]:
    """Lets a function raise WrongCall with this advice, or the name of an argument that may be meant, or those of all."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            try:
                return function(*args, **options)
            except TypeError:
                problem = _problem(function, args, options, advice)
                if problem is None:
                    raise
            raise problem

        return call  # type: ignore[return-value]

    return decorate


def _problem(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], advice: str) -> WrongCall | None:
    """What is wrong with the arguments, if they are what is wrong."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **options)
    except TypeError as error:
        names = [name for name in signature.parameters if name != "self"]
        unknown = [name for name in options if name not in names]
        close = difflib.get_close_matches(unknown[0], names, n=1, cutoff=0.8) if unknown else []
        hint = f"did you mean {close[0]}=…?" if close else advice or f"the arguments are: {', '.join(names)}"
        name = function.__qualname__.removesuffix(".__init__")
        return WrongCall(f"{name}(…): {error}", hint=hint)
    return None
