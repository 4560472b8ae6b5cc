"""Draws one node after its schema. Rules say how its shapes and attributes hang together; types come from the schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, TypeVar

from onnx import defs

from .case import FLOATS, Case, Operand, Step

T = TypeVar("T")
Rule = Callable[["Draw"], None]
NEWEST: Final = defs.onnx_opset_version()
OLDEST: Final = 7

DTYPES: Final = {
    "tensor(float)": "FLOAT", "tensor(float16)": "FLOAT16", "tensor(bfloat16)": "BFLOAT16", "tensor(double)": "DOUBLE",
    "tensor(int8)": "INT8", "tensor(int16)": "INT16", "tensor(int32)": "INT32", "tensor(int64)": "INT64",
    "tensor(uint8)": "UINT8", "tensor(uint16)": "UINT16", "tensor(uint32)": "UINT32", "tensor(uint64)": "UINT64",
    "tensor(bool)": "BOOL", "tensor(int4)": "INT4", "tensor(uint4)": "UINT4", "tensor(float8e4m3fn)": "FLOAT8E4M3FN",
    "tensor(float8e4m3fnuz)": "FLOAT8E4M3FNUZ", "tensor(float8e5m2)": "FLOAT8E5M2", "tensor(float8e5m2fnuz)": "FLOAT8E5M2FNUZ",
}  # fmt: skip
INTEGERS: Final = {name for name in DTYPES.values() if "INT" in name and "4" not in name.removesuffix("64")}
WIDE: Final = FLOATS | INTEGERS | {"BOOL"}


class Reject(Exception):
    """What was drawn so far cannot be completed."""


class Draw:
    """The state of one node that is being drawn; `rule`s fill it."""

    def __init__(self, random: Random, op: str, opset: int, *, live: Sequence[Operand] = (), tame: bool = False) -> None:
        self.random = random
        self.op = op
        self.opset = opset
        try:
            self.schema = defs.get_schema(op, opset)
        except defs.SchemaError:
            raise Reject(f"{op} is not in opset {opset}") from None
        if self.schema.deprecated:
            raise Reject(f"{op} is deprecated in opset {opset}")
        self.since = self.schema.since_version
        self.tame = tame
        """Values without edges, so that errors stay small."""
        self.loose = False
        self.operands: list[Operand] = []
        self.inputs: list[str] = []
        self.attributes: dict[str, Any] = {}
        self.results = [True]
        self._live = list(live)
        """Results of earlier nodes, the one to go on with first."""
        self._types: dict[str, str] = {}
        self._first = self._live[0] if self._live else None
        self._fixed: list[bool] = []

    # Choice

    def integer(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def pick(self, items: Sequence[T]) -> T:
        return self.random.choice(items)

    def chance(self, part: float) -> bool:
        return self.random.random() < part

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        return self.random.sample(items, count)

    def need(self, condition: bool) -> None:
        if not condition:
            raise Reject

    # Shapes

    def size(self) -> int:
        return self.pick([1, 1, 2, 2, 3, 3, 4, 5, 7, 9, 16, 17]) if self.tame or self.chance(0.97) else 0

    def shape(self, least: int = 0, most: int = 4) -> list[int]:
        """The shape of the first operand: of the value to go on with, in a chain."""
        if self._first is not None:
            self.need(least <= len(self._first.shape) <= most)
            return list(self._first.shape)
        return self.any_shape(least, most)

    def any_shape(self, least: int = 0, most: int = 4) -> list[int]:
        return [self.size() for _ in range(self.integer(least, most))]

    def broadcastable(self, shape: Sequence[int]) -> list[int]:
        """A shape that broadcasts to this one."""
        rank = self.integer(0, len(shape)) if self.chance(0.6) else len(shape)
        return [1 if self.chance(0.3) else size for size in shape[len(shape) - rank :]]

    def axis(self, rank: int) -> int:
        return self.integer(-rank, rank - 1)

    def axes(self, rank: int, least: int = 0, most: int | None = None) -> list[int]:
        """Some axes, each once, in any order, some counted from the end."""
        chosen = self.sample(range(rank), self.integer(min(least, rank), rank if most is None else min(most, rank)))
        return [axis - rank if self.chance(0.3) else axis for axis in chosen]

    # Types

    def type(self, index: int, allowed: set[str] | None = None) -> str:
        """The element type of operand `index`: one for each type variable of the schema."""
        formal = self.schema.inputs[min(index, len(self.schema.inputs) - 1)]
        variable = formal.type_str if formal.is_homogeneous else f"{formal.type_str}/{index}"
        if variable not in self._types:
            names = sorted(DTYPES[name] for name in formal.types if name in DTYPES)
            names = [name for name in names if name in (WIDE if allowed is None else allowed)]
            self.need(bool(names))
            if self._first is not None and not self.inputs:
                self.need(self._first.dtype in names)
                self._types[variable] = self._first.dtype
            elif "FLOAT" in names and self.chance(0.5):
                self._types[variable] = "FLOAT"
            else:
                self._types[variable] = self.pick(names)
        return self._types[variable]

    # Operands

    def operand(
        self,
        shape: Sequence[int],
        fill: str = "normal",
        *,
        allowed: set[str] | None = None,
        dtype: str = "",
        constant: bool | None = None,
    ) -> str:
        """The next operand; returns its type. In a chain it may be an earlier result."""
        index = len(self.inputs)
        dtype = dtype or self.type(index, allowed)
        if index == 0 and self._first is not None:  # the value to go on with
            self.need(self._first.dtype == dtype and self._first.shape == list(shape))
            self.inputs.append(self._first.name)
            return dtype
        same = [value for value in self._live if value.dtype == dtype and value.shape == list(shape)]
        if same and self.chance(0.6) and fill in ("normal", "special", "non_finite") and constant is None:
            self.inputs.append(self.pick(same).name)
            return dtype
        if self.tame and fill in ("special", "non_finite"):
            fill = "normal"
        is_constant = self.chance(0.5 if index else 0.1) if constant is None else constant
        self._append(Operand("", dtype, list(shape), fill, self.integer(0, 9999), None, is_constant))
        return dtype

    def edges(self, part: float = 0.3) -> str:
        """How to fill an operand whose elements are treated one by one."""
        return "special" if self.chance(part) else "normal"

    def listed(
        self, values: Sequence[Any], *, dtype: str = "INT64", shape: Sequence[int] | None = None, constant: float = 0.6
    ) -> None:
        """The next operand, with these elements."""
        self._append(
            Operand("", dtype, [len(values)] if shape is None else list(shape), "listed", 0, list(values), self.chance(constant))
        )

    def index_dtype(self) -> str:
        return self.pick(["INT64", "INT64", "INT32"])

    def omit(self) -> None:
        """Leaves the next operand out."""
        self.inputs.append("")

    def _append(self, operand: Operand) -> None:
        operand.name = f"{self.op}_{len(self.inputs)}"
        self.inputs.append(operand.name)
        self.operands.append(operand)

    def attribute(self, name: str, value: Any) -> None:
        self.need(name in self.schema.attributes)
        self.attributes[name] = value

    def maybe(self, name: str, values: Sequence[Any], part: float = 0.6) -> Any:
        """Gives the attribute one of these values, if the op has it in this version; returns it, or the default."""
        known = self.schema.attributes.get(name)
        if known is not None and self.chance(part):
            self.attributes[name] = self.pick(values)
            return self.attributes[name]
        return default(known)

    def has(self, attribute: str) -> bool:
        return attribute in self.schema.attributes

    def case(self) -> Case:
        """The case of this node alone."""
        step = self.step("")
        return Case(self.opset, [step], self.operands, [name for name in step.outputs if name], self.chance(0.35), self.loose)

    def step(self, prefix: str) -> Step:
        """The node, its names made unique by the prefix."""
        for operand in self.operands:
            operand.name = prefix + operand.name
        own = {f"{self.op}_{index}": name for index, name in enumerate(self.inputs)}
        inputs = [prefix + name if name in own else name for name in self.inputs]
        while inputs and not inputs[-1]:
            inputs.pop()
        outputs = [f"{prefix}y{index}" if wanted else "" for index, wanted in enumerate(self.results)]
        return Step(self.op, inputs, outputs, self.attributes)


def default(attribute: Any) -> Any:
    """The schema's default of an attribute, None if it has none."""
    from onnx import helper

    if attribute is None or not attribute.default_value.name:
        return None
    value = helper.get_attribute_value(attribute.default_value)
    return value.decode() if isinstance(value, bytes) else value
