"""Finds out with which dtypes an op runs, and on which kernels, by converting and running models of one node.

The models are the examples that ONNX's own test cases give of each op, with their tensors cast to each dtype that the op's
schema allows."""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, defs, helper, numpy_helper

from jitney import Session, _core
from jitney.errors import Error

from ..convert import convert_to_bytes
from ..ir import Node
from ..load import load
from ..lower import lower
from .table import OpRow

_MOST_EXAMPLES: Final = 4
"""Of each op."""


@dataclass
class Example:
    """A model of one node, with values for its inputs."""

    model: onnx.ModelProto
    values: list[Any]


def probe(rows: Sequence[OpRow]) -> list[OpRow]:
    """The rows with what their examples showed."""
    examples = load_examples()
    return [_probe_op(row, examples.get((row.domain, row.op), [])) if row.by else row for row in rows]


@functools.cache
def load_examples() -> dict[tuple[str, str], list[Example]]:
    """Those whose inputs are tensors, by domain and op."""
    from onnx.backend.test.loader import load_model_tests

    found: dict[tuple[str, str], list[Example]] = defaultdict(list)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        tests: list[Any] = load_model_tests(kind="node")
    for test in tests:
        graph = test.model.graph
        if len(graph.node) == 1 and not test.model.functions and all(info.type.HasField("tensor_type") for info in graph.input):
            node = graph.node[0]
            values = [_array(value) for value in test.data_sets[0][0]]
            found[node.domain, node.op_type].append(_settled(Example(test.model, values)))
    return found


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def _settled(example: Example) -> Example:
    """The example with the values that decide shapes, axes and branches fixed, so that one plan has all of its steps."""
    try:
        graph = lower(load(example.model)).graph
    except Error:
        return example
    deciding = {value for node in graph.nodes for index, value in enumerate(node.inputs) if _decides(node, index)}
    for node in reversed(graph.nodes):
        if any(result in deciding for result in node.outputs if result is not None):
            deciding.update(node.inputs)
    names = {value.name for value in graph.inputs if value in deciding and value.dtype in (TensorProto.INT64, TensorProto.INT32)}
    model = onnx.ModelProto()
    model.CopyFrom(example.model)
    values = []
    del model.graph.input[:]
    for info, value in zip(example.model.graph.input, example.values):
        if info.name in names:
            model.graph.initializer.append(numpy_helper.from_array(value, info.name))
        else:
            model.graph.input.append(info)
            values.append(value)
    return Example(model, values)


def _decides(node: Node, index: int) -> bool:
    return bool(_core.op_schema(node.op)["value_inputs"] >> index & 1)


def _probe_op(row: OpRow, examples: list[Example]) -> OpRow:
    usable = [example for example in examples if _runs(example)][:_MOST_EXAMPLES]
    if row.by == "function" and examples and not usable:  # its function body needs an op that is not supported
        return replace(row, by="", opsets="")
    becomes = {node.op for example in usable for node in lower(load(example.model)).graph.nodes}
    found: dict[str, list[str]] = {"fast": [], "partly": [], "plain": []}
    for dtype in _allowed(usable):
        outcomes = {_runs(_cast(example, dtype)) for example in usable} - {None}
        if outcomes:
            found["partly" if len(outcomes) == 2 else str(outcomes.pop())].append(_SHORT[dtype])
    dtypes = {name: tuple(listed) for name, listed in found.items()}
    return replace(row, probed=bool(usable), becomes=tuple(sorted(becomes)), **dtypes)  # type: ignore[arg-type]


def _runs(example: Example) -> str | None:
    """Whether all steps of the plan are "fast" or some "plain"; None if the model cannot be converted or run."""
    names = [info.name for info in example.model.graph.input]
    try:
        with Session(convert_to_bytes(example.model), backend="cpu", threads=1) as session:
            session.run(dict(zip(names, map(np.asarray, example.values))))
            steps = session.plan_report().steps
            computed_late = any(_core.op_schema(op)["data_dependent"] for op in session.model.ops)
    except (Error, TypeError, ValueError, OverflowError):  # the latter: no such example can be made in this dtype
        return None
    return "plain" if computed_late or any("reference_" in step.kernel for step in steps) else "fast"


def _allowed(examples: Sequence[Example]) -> Iterator[int]:
    """Dtypes that the newest schema allows for the type that matters, and that NumPy or ml_dtypes can hold."""
    if not examples:
        return
    position = _decisive_input(examples[0])
    names = _types_of(examples[0], position) if position is not None else []
    for name in names:
        dtype = _NUMBERS.get(name)
        if dtype is not None and dtype != TensorProto.STRING:
            yield dtype


def _schema(example: Example) -> Any:
    node = example.model.graph.node[0]
    version = next(entry.version for entry in example.model.opset_import if entry.domain == node.domain)
    return defs.get_schema(node.op_type, version, node.domain)


def _formal(schema: Any, index: int) -> Any:
    return schema.inputs[min(index, len(schema.inputs) - 1)]


def _decisive_input(example: Example) -> int | None:
    """The first of the operands with the widest choice of types."""
    schema = _schema(example)
    given = [index for index, name in enumerate(example.model.graph.node[0].input) if name]
    return max(given, key=lambda index: (len(_formal(schema, index).types), -index), default=None)


def _types_of(example: Example, index: int) -> list[str]:
    return sorted(_formal(_schema(example), index).types, key=lambda name: list(_NUMBERS).index(name) if name in _NUMBERS else -1)


def _cast(example: Example, dtype: int) -> Example:
    """The example in another dtype: the decisive operand's, and that of all operands that had the same and may change with it."""
    position = _decisive_input(example)
    assert position is not None
    node, schema = example.model.graph.node[0], _schema(example)
    types = {info.name: info.type.tensor_type for info in example.model.graph.input}
    before = types[node.input[position]].elem_type if node.input[position] in types else 0
    name = next(name for name, number in _NUMBERS.items() if number == dtype)
    changed = {
        operand
        for index, operand in enumerate(node.input)
        if operand in types and types[operand].elem_type == before and name in _formal(schema, index).types
    }
    model = onnx.ModelProto()
    model.CopyFrom(example.model)
    values = [*example.values]
    for index, info in enumerate(model.graph.input):
        if info.name in changed:
            info.type.tensor_type.elem_type = dtype
            values[index] = _as_dtype(values[index], dtype)
    for info in model.graph.output:  # whatever follows from the inputs
        info.CopyFrom(helper.make_empty_tensor_value_info(info.name))
    return Example(model, values)


def _as_dtype(array: Any, dtype: int) -> Any:
    """Small numbers stay as they are; what would not fit is made small."""
    wanted = helper.tensor_dtype_to_np_dtype(dtype)
    source = np.asarray(array)
    if source.dtype == wanted:
        return source
    if source.dtype.kind == "b" or wanted.kind == "b":
        return source.astype(np.float32).astype(wanted)
    wide = source.astype(np.complex128 if source.dtype.kind == "c" else np.float64)
    wide = np.nan_to_num(wide.real, nan=0, posinf=1, neginf=0)
    return (np.abs(wide) if wanted.kind == "u" else wide).clip(-8, 8).astype(wanted)


def _numbers(pairs: Iterable[tuple[str, str, str]]) -> tuple[dict[str, int], dict[int, str]]:
    known = {schema: getattr(TensorProto, constant, None) for schema, constant, _ in pairs}
    short = {getattr(TensorProto, constant, -1): text for _, constant, text in pairs}
    return {name: number for name, number in known.items() if number is not None}, short


_NUMBERS, _SHORT = _numbers(
    (
        ("tensor(float)", "FLOAT", "f32"),
        ("tensor(float16)", "FLOAT16", "f16"),
        ("tensor(bfloat16)", "BFLOAT16", "bf16"),
        ("tensor(double)", "DOUBLE", "f64"),
        ("tensor(int8)", "INT8", "i8"),
        ("tensor(int16)", "INT16", "i16"),
        ("tensor(int32)", "INT32", "i32"),
        ("tensor(int64)", "INT64", "i64"),
        ("tensor(uint8)", "UINT8", "u8"),
        ("tensor(uint16)", "UINT16", "u16"),
        ("tensor(uint32)", "UINT32", "u32"),
        ("tensor(uint64)", "UINT64", "u64"),
        ("tensor(bool)", "BOOL", "bool"),
        ("tensor(float8e4m3fn)", "FLOAT8E4M3FN", "f8e4m3fn"),
        ("tensor(float8e4m3fnuz)", "FLOAT8E4M3FNUZ", "f8e4m3fnuz"),
        ("tensor(float8e5m2)", "FLOAT8E5M2", "f8e5m2"),
        ("tensor(float8e5m2fnuz)", "FLOAT8E5M2FNUZ", "f8e5m2fnuz"),
        ("tensor(float8e8m0)", "FLOAT8E8M0", "f8e8m0"),
        ("tensor(float4e2m1)", "FLOAT4E2M1", "f4e2m1"),
        ("tensor(int4)", "INT4", "i4"),
        ("tensor(uint4)", "UINT4", "u4"),
        ("tensor(int2)", "INT2", "i2"),
        ("tensor(uint2)", "UINT2", "u2"),
        ("tensor(complex64)", "COMPLEX64", "c64"),
        ("tensor(complex128)", "COMPLEX128", "c128"),
    )
)
