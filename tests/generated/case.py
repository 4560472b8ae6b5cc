"""One generated case: nodes and operands, small enough to be kept as a line of JSON, and the model that it stands for."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]
Attributes = dict[str, Any]

FLOATS: Final = {"FLOAT", "FLOAT16", "DOUBLE", "BFLOAT16"}


@dataclass
class Operand:
    """A tensor: its elements listed, or drawn anew from a seed in one of several ways."""

    name: str
    dtype: str
    shape: list[int]
    fill: str = "normal"
    seed: int = 0
    values: list[Any] | None = None
    constant: bool = False

    def array(self, noise: int = 0) -> Array:
        """The elements; with some noise, if asked for, as small as a rounding error."""
        exact = self._exact()
        if not noise or self.dtype not in FLOATS or self.fill == "listed":
            return exact
        random = np.random.default_rng(noise)
        size = max(1e-6, float(ml_dtypes.finfo(exact.dtype).eps))
        with np.errstate(all="ignore"):
            return (exact.astype(np.float64) * (1 + size * random.uniform(-1, 1, exact.shape))).astype(exact.dtype)

    def _exact(self) -> Array:
        dtype = helper.tensor_dtype_to_np_dtype(getattr(TensorProto, self.dtype))
        if self.values is not None:
            return (
                np.array([float(item) if isinstance(item, str) else item for item in self.values])
                .astype(dtype)
                .reshape(self.shape)
            )
        return fill(self.dtype, dtype, tuple(self.shape), self.fill, np.random.default_rng(self.seed))


@dataclass
class Step:
    """A node. A result without a name is not wanted."""

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: Attributes = field(default_factory=dict)
    domain: str = ""


@dataclass
class Case:
    """A model of a few nodes with its inputs."""

    opset: int
    steps: list[Step]
    operands: list[Operand]
    outputs: list[str]
    symbolic: bool = False
    loose: bool = False
    """Results are sums of many products: errors are measured against the largest, not each for itself."""
    note: str = ""

    @property
    def title(self) -> str:
        return "+".join(step.op for step in self.steps)

    def to_json(self) -> str:
        """One line; the defaults are left out."""
        plain = asdict(self)
        for operand in plain["operands"]:
            for key in [key for key, value in operand.items() if value in (None, False, 0) or (key, value) == ("fill", "normal")]:
                if key not in ("name", "dtype", "shape"):
                    del operand[key]
        for step in plain["steps"]:
            if not step["domain"]:
                del step["domain"]
        return json.dumps({key: value for key, value in plain.items() if value not in (False, "")})

    @staticmethod
    def from_json(text: str) -> Case:
        plain = json.loads(text)
        plain["steps"] = [Step(**step) for step in plain["steps"]]
        plain["operands"] = [Operand(**operand) for operand in plain["operands"]]
        return Case(**plain)

    @property
    def has_edges(self) -> bool:
        """Whether there are extremes among the values."""
        return any(operand.fill in ("special", "extreme") for operand in self.operands)

    def feeds(self, noise: int = 0) -> dict[str, Array]:
        return {operand.name: operand.array(noise) for operand in self.operands if not operand.constant}

    def model(self, noise: int = 0) -> onnx.ModelProto:
        infos, initializers = [], []
        for index, operand in enumerate(self.operands):
            number = getattr(TensorProto, operand.dtype)
            if operand.constant:
                initializers.append(numpy_helper.from_array(operand.array(noise), operand.name))
                initializers[-1].data_type = number
            else:
                shape = [f"d{index}_{axis}" for axis in range(len(operand.shape))] if self.symbolic else operand.shape
                infos.append(helper.make_tensor_value_info(operand.name, number, shape))
        nodes = [
            helper.make_node(
                step.op, step.inputs, step.outputs, f"node{index}", domain=step.domain, **_attributes(step.attributes)
            )
            for index, step in enumerate(self.steps)
        ]
        results = [helper.make_empty_tensor_value_info(name) for name in self.outputs]
        graph = helper.make_graph(nodes, "g", infos, results, initializers)
        domains = {step.domain for step in self.steps} - {""}
        opsets = [helper.make_opsetid("", self.opset), *(helper.make_opsetid(domain, 1) for domain in sorted(domains))]
        return helper.make_model(graph, opset_imports=opsets, ir_version=min(10, onnx.IR_VERSION))


def _attributes(given: Attributes) -> Attributes:
    """JSON has no tensors: {"dtype", "shape", "values"} stands for one. "nan" and "inf" stand for numbers."""
    made = {}
    for name, value in given.items():
        if isinstance(value, dict):
            value = numpy_helper.from_array(Operand(name="", **value).array())
        made[name] = value
    return made


def fill(name: str, dtype: npt.DTypeLike, shape: tuple[int, ...], kind: str, random: np.random.Generator) -> Array:
    """Elements of one kind: normal, unit, positive, ties (small whole numbers), extreme (the largest and least), special (these,
    infinities and NaN), non_finite (a few infinities and NaN among normal ones)."""
    if name == "BOOL":
        return np.asarray(random.integers(0, 2, shape).astype(bool))
    if name in FLOATS:
        return _floats(dtype, shape, kind, random)
    if name.startswith("FLOAT"):  # 8 bits and less
        small = random.standard_normal(shape) * 2
        return np.asarray(np.abs(small) if kind == "positive" else small).astype(dtype)
    low, high = _integer_range(name)
    if kind in ("special", "extreme"):
        edges = np.array([low, low + 1, -1 if low < 0 else 0, 0, 1, 2, 3, high - 1, high], dtype=object)
        return edges[random.integers(0, len(edges), shape)].astype(dtype) if shape else np.array(edges[random.integers(9)], dtype)
    reach = {"positive": (1, 6), "ties": (-2, 3), "unit": (-3, 4)}.get(kind, (-9, 10))
    return np.asarray(random.integers(max(low, reach[0]), min(high + 1, reach[1]), shape)).astype(dtype)


def _floats(dtype: npt.DTypeLike, shape: tuple[int, ...], kind: str, random: np.random.Generator) -> Array:
    if kind == "positive":
        numbers = random.uniform(0.1, 3, shape)
    elif kind == "unit":
        numbers = random.uniform(-1, 1, shape)
    elif kind == "ties":
        numbers = random.integers(-3, 4, shape) / 2
    else:
        numbers = random.standard_normal(shape) * 2
    result = np.asarray(numbers).astype(dtype)
    if kind in ("special", "non_finite", "extreme"):
        info = ml_dtypes.finfo(dtype)
        edges = [-0.0, 0.0] if kind == "extreme" else [np.nan, np.inf, -np.inf, -0.0, 0.0]
        if kind != "non_finite":
            edges += [
                float(info.max),
                float(info.min),
                float(info.tiny),
                float(info.smallest_subnormal),
                0.5,
                -0.5,
                1.5,
                2.5,
                -2.5,
            ]
            edges += [1.0, -1.0, 100.0, -100.0, 3e9, -3e9]
        with np.errstate(over="ignore"):
            chosen = np.array(edges)[random.integers(0, len(edges), shape)].astype(dtype)
        result = np.where(random.random(shape) < (0.15 if kind == "non_finite" else 0.5), chosen, result).astype(dtype)
    return result


def _integer_range(name: str) -> tuple[int, int]:
    signed = name.startswith("INT")
    bits = int(name.removeprefix("U").removeprefix("INT"))
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
