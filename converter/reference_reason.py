"""Turns what a reference says of its failure into what people can act upon: without C++ sources and status codes."""

from __future__ import annotations

import re
from typing import Final

_MOST: Final = 300
_STATUS: Final = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ")
_NODE: Final = re.compile(r"Non-zero status code returned while running (\S+) node\. Name:'([^']*)' Status Message: ")
_PLACE: Final = re.compile(
    r"\S+\.(?:h|hpp|cc|cpp|cu):\d+ "
    r"(?:[^()]{1,200}::[^()]{1,200}\([^()]*\)(?: const)?(?: \[with [^\]]*\])? |\w+ (?=\S))?"
)
"""File, line and function; the function's whole signature where an assertion failed."""
_ASSERTION: Final = re.compile(r"\S.{0,200}? was false\. (?=\S)")


def reason_of(error: Exception) -> str:
    """One line."""
    text = str(error).strip()
    if not text:
        return type(error).__name__
    if not _STATUS.match(text):
        return text.splitlines()[0][:_MOST]
    text = _STATUS.sub("", " ".join(text.split()))
    node = _NODE.search(text)
    place = (f"{node[1]} node '{node[2]}': " if node[2] else f"{node[1]} node: ") if node else ""
    text = text[node.end() :] if node else text
    source = _PLACE.search(text)
    text = _ASSERTION.sub("", text[: source.start()] + text[source.end() :], count=1) if source else text
    return f"{place}{text}"[:_MOST].rstrip(" .")
