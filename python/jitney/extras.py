"""Says which extra to install when an optional package is missing."""

from __future__ import annotations

import importlib.util

from jitney.errors import Unsupported


def require(package: str, extra: str, purpose: str) -> None:
    """Raises Unsupported, naming the extra, if `package` is not installed."""
    if importlib.util.find_spec(package) is None:
        raise Unsupported(f"{purpose} needs the package '{package}'", hint=f'pip install "jitney[{extra}]"')
