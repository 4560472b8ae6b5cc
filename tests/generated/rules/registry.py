"""The table that the rules enter themselves into."""

from __future__ import annotations

from collections.abc import Callable

from ..draw import Rule

RULES: dict[str, Rule] = {}


def rule(*ops: str) -> Callable[[Rule], Rule]:
    """Registers a rule for these ops."""

    def register(function: Rule) -> Rule:
        for op in ops:
            assert op not in RULES, op
            RULES[op] = function
        return function

    return register
