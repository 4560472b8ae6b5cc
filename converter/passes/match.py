"""A small declarative matcher: patterns of ops over values, tried in every order where an op commutes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import permutations
from typing import Final, Protocol

from onnx import TensorProto

from ..ir import Node, Value
from .facts import FLOATS, scalar
from .rewriter import Rewriter

_COMMUTATIVE: Final = frozenset({"add", "mul", "max", "min", "equal", "and", "or", "xor"})
_TOLERANCE: Final[dict[int, float]] = {
    TensorProto.FLOAT: 2.0**-20,
    TensorProto.DOUBLE: 2.0**-20,
    TensorProto.FLOAT16: 2.0**-8,
    TensorProto.BFLOAT16: 2.0**-5,
}
"""How far constants such as √2 may be off: 8 roundings of their type (doubles often went through float32)."""


@dataclass(frozen=True)
class Match:
    """What a pattern has found so far."""

    values: dict[str, Value] = field(default_factory=dict)
    """Values by the names that the pattern gives them."""
    nodes: frozenset[Node] = frozenset()
    constants: tuple[Value, ...] = ()
    """Every constant that a `Number` or `Constant` met."""

    def __getitem__(self, name: str) -> Value:
        return self.values[name]

    def number(self, name: str) -> float:
        """The number in a one-element constant."""
        found = scalar(self.values[name])
        assert found is not None, f"{name} is no scalar"
        return found

    def bind(self, name: str, value: Value) -> Match | None:
        """This match with one more name, or None if the name stands for another value already."""
        if name in self.values:
            return self if self.values[name] is value else None
        return Match({**self.values, name: value}, self.nodes, self.constants)

    def with_node(self, node: Node) -> Match:
        """This match with one more node."""
        return Match(self.values, self.nodes | {node}, self.constants)

    def with_constant(self, value: Value) -> Match:
        """This match with one more constant."""
        return Match(self.values, self.nodes, (*self.constants, value))


class Pattern(Protocol):
    """Something that a value may look like."""

    def matches(self, value: Value, match: Match, rewriter: Rewriter) -> Iterator[Match]:
        """All ways in which the value fits, each extending `match`."""
        ...


def find(pattern: Pattern, value: Value, rewriter: Rewriter) -> Match | None:
    """The first way in which the value fits such that nobody outside needs what the matched nodes compute on the way."""
    for match in pattern.matches(value, Match(), rewriter):
        inner = (result for node in match.nodes for result in node.outputs if result is not None and result is not value)
        if all(rewriter.stays_within(result, match.nodes) for result in inner):
            return match
    return None


def close(number: float, wanted: float, dtype: int) -> bool:
    """Whether two numbers are equal up to a few roundings of that type."""
    if dtype not in FLOATS or math.isinf(wanted) or math.isinf(number):
        return number == wanted
    return abs(number - wanted) <= _TOLERANCE[dtype] * abs(wanted)


@dataclass(frozen=True)
class Any:
    """Any value; the same name means the same value."""

    name: str

    def matches(self, value: Value, match: Match, rewriter: Rewriter) -> Iterator[Match]:
        """See Pattern."""
        bound = match.bind(self.name, value)
        if bound is not None:
            yield bound


@dataclass(frozen=True)
class Constant:
    """Any constant; with `one`, of one element only."""

    name: str
    one: bool = False

    def matches(self, value: Value, match: Match, rewriter: Rewriter) -> Iterator[Match]:
        """See Pattern."""
        if value.is_constant and (not self.one or scalar(value) is not None):
            bound = match.bind(self.name, value)
            if bound is not None:
                yield bound.with_constant(value)


@dataclass(frozen=True)
class Number:
    """A one-element constant that holds this number."""

    number: float

    def matches(self, value: Value, match: Match, rewriter: Rewriter) -> Iterator[Match]:
        """See Pattern."""
        found = scalar(value)
        if found is not None and close(found, self.number, value.dtype):
            yield match.with_constant(value)


@dataclass(frozen=True)
class Named:
    """A value of this form; where the name comes again, it is the same value."""

    name: str
    pattern: Pattern

    def matches(self, value: Value, match: Match, rewriter: Rewriter) -> Iterator[Match]:
        """See Pattern."""
        if self.name in match.values:
            if match.values[self.name] is value:
                yield match
            return
        for found in self.pattern.matches(value, match, rewriter):
            bound = found.bind(self.name, value)
            if bound is not None:
                yield bound


class Op:
    """The first result of an op whose operands fit; operands after the given ones must be left out."""

    def __init__(self, op: str, *operands: Pattern | None, where: Callable[[Node], bool] | None = None) -> None:
        self._op = op
        self._operands = operands
        self._where = where

    def matches(self, value: Value, match: Match, rewriter: Rewriter) -> Iterator[Match]:
        """See Pattern."""
        node = value.producer
        if node is None or node.op != self._op or node.outputs[0] is not value:
            return
        if self._where is not None and not self._where(node):
            return
        yield from self._match_operands(node.inputs, 0, match.with_node(node), rewriter)
        if self._op in _COMMUTATIVE and node.inputs[0] is not node.inputs[1]:
            yield from self._match_operands(node.inputs[::-1], 0, match.with_node(node), rewriter)

    def _match_operands(self, values: list[Value | None], index: int, match: Match, rewriter: Rewriter) -> Iterator[Match]:
        if index == max(len(values), len(self._operands)):
            yield match
            return
        value = values[index] if index < len(values) else None
        pattern = self._operands[index] if index < len(self._operands) else None
        if value is None or pattern is None:
            if value is None and pattern is None:
                yield from self._match_operands(values, index + 1, match, rewriter)
            return
        for found in pattern.matches(value, match, rewriter):
            yield from self._match_operands(values, index + 1, found, rewriter)


class OneOf:
    """Fits where one of several patterns does."""

    def __init__(self, *patterns: Pattern) -> None:
        self._patterns = patterns

    def matches(self, value: Value, match: Match, rewriter: Rewriter) -> Iterator[Match]:
        """See Pattern."""
        for pattern in self._patterns:
            yield from pattern.matches(value, match, rewriter)


class Product:
    """A product of these factors and a number, multiplied in any order and grouping; divisions by constants count too."""

    def __init__(self, coefficient: float, *factors: Pattern) -> None:
        self._coefficient = coefficient
        self._factors = factors

    def matches(self, value: Value, match: Match, rewriter: Rewriter) -> Iterator[Match]:
        """See Pattern."""
        terms = _Terms()
        terms.collect(value, rewriter, outermost=True)
        if len(terms.factors) != len(self._factors) or not close(terms.coefficient, self._coefficient, value.dtype):
            return
        match = Match(match.values, match.nodes | terms.nodes, match.constants + tuple(terms.constants))
        for order in permutations(terms.factors):
            yield from self._match_factors(order, 0, match, rewriter)

    def _match_factors(self, values: tuple[Value, ...], index: int, match: Match, rewriter: Rewriter) -> Iterator[Match]:
        if index == len(values):
            yield match
            return
        for found in self._factors[index].matches(values[index], match, rewriter):
            yield from self._match_factors(values, index + 1, found, rewriter)


@dataclass
class _Terms:
    """A product taken apart."""

    coefficient: float = 1.0
    factors: list[Value] = field(default_factory=list)
    nodes: set[Node] = field(default_factory=set)
    constants: list[Value] = field(default_factory=list)

    def collect(self, value: Value, rewriter: Rewriter, outermost: bool = False, power: int = 1) -> None:
        """Adds the factors of `value`. A product that others read as well is one factor."""
        found, node = scalar(value), value.producer
        if found is not None and (power == 1 or found != 0):
            self.coefficient *= found**power
            self.constants.append(value)
        elif node is not None and power == 1 and (outermost or rewriter.sole_reader(value) is not None) and self._opens(node):
            self.nodes.add(node)
            for position, operand in enumerate(node.inputs):
                assert operand is not None
                self.collect(operand, rewriter, power=-1 if node.op == "div" and position == 1 else 1)
            self.coefficient *= -1 if node.op == "neg" else 1
        else:
            self.factors.append(value)

    def _opens(self, node: Node) -> bool:
        denominator = scalar(node.input(1)) if node.op == "div" else None
        return node.op in {"mul", "neg"} or (denominator is not None and denominator != 0)
