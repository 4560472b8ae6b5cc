"""Runs one ONNX op through the whole converter and the runtime, and compares with what others say that it means."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, defs, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from jitney import Session
from jitney.converter.corrected_ops import CORRECTED
from jitney.converter.infer import infer_shapes
from jitney.converter.load import load
from jitney.converter.lower import lower
from jitney.converter.passes import run_passes
from jitney.converter.write import serialise

Array = npt.NDArray[Any]
NEWEST = min(28, defs.onnx_opset_version())


def versions(op: str, least: int = 7, most: int = NEWEST) -> list[int]:
    """One opset for each version in which the op's definition changed, from opset 7 on, and the newest."""
    found = set()
    for opset in range(least, most + 1):
        try:
            schema = defs.get_schema(op, opset)
        except defs.SchemaError:
            continue
        if not schema.deprecated:
            found.add(max(schema.since_version, least))
    return sorted(found)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def floats(*shape: int, seed: int = 0, dtype: npt.DTypeLike = np.float32) -> Array:
    return rng(seed).standard_normal(shape).astype(dtype)


def int64s(*items: int) -> Array:
    return np.array(items, np.int64)


def make_model(
    op: str,
    inputs: Sequence[Array | None],
    *,
    opset: int,
    outputs: int | Sequence[str] = 1,
    constants: Sequence[int] = (),
    symbolic: bool = False,
    attributes: dict[str, Any] | None = None,
    domain: str = "",
) -> onnx.ModelProto:
    """A model of one node. Operands listed in `constants` are initializers, the others inputs."""
    output_names = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else list(outputs)
    names = ["" if array is None else f"x{i}" for i, array in enumerate(inputs)]
    node = helper.make_node(op, names, output_names, name="node", domain=domain, **(attributes or {}))
    infos, initializers = [], []
    for index, array in enumerate(inputs):
        if array is None:
            continue
        if index in constants:
            initializers.append(numpy_helper.from_array(array, names[index]))
        else:
            shape = [f"d{index}_{axis}" for axis in range(array.ndim)] if symbolic else list(array.shape)
            infos.append(helper.make_tensor_value_info(names[index], helper.np_dtype_to_tensor_dtype(array.dtype), shape))
    results = [helper.make_empty_tensor_value_info(name) for name in output_names if name]
    model = model_of([node], infos, results, initializers, opset)
    if domain:
        model.opset_import.append(helper.make_opsetid(domain, 1))
    return model


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    initializers: Sequence[onnx.TensorProto] = (),
    opset: int = 17,
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=min(10, onnx.IR_VERSION))


def value(name: str, shape: Sequence[int | str] | None = None, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def convert_bytes(model: onnx.ModelProto, *, simplify: bool = True) -> bytes:
    """The model's .jny file."""
    ir = lower(load(model))
    infer_shapes(ir)
    if simplify:
        run_passes(ir)
        infer_shapes(ir)
    return serialise(ir)


def run_jny(model: onnx.ModelProto, feeds: dict[str, Array], *, simplify: bool = True, backend: str = "auto") -> dict[str, Array]:
    with Session(convert_bytes(model, simplify=simplify), backend=backend) as session:
        return session.run(feeds)


def references(model: onnx.ModelProto, feeds: dict[str, Array]) -> Iterator[dict[str, Array]]:
    """What ONNX Runtime says, then what onnx's evaluator says; if both lack the newest version of the op, of the one before."""
    names = [info.name for info in model.graph.output]
    found = False
    for run in (_run_onnx_runtime, _run_evaluator):
        with contextlib.suppress(Exception):
            results = run(model, feeds)
            found = True
            yield {name: np.asarray(result) for name, result in zip(names, results)}
    if not found:
        assert model.opset_import[0].version > 21, "no reference can run this model"
        older = onnx.ModelProto()
        older.CopyFrom(model)
        older.opset_import[0].version = 21
        yield from references(older, feeds)


def reference(model: onnx.ModelProto, feeds: dict[str, Array]) -> dict[str, Array]:
    """What the best reference says."""
    return next(references(model, feeds))


def _run_onnx_runtime(model: onnx.ModelProto, feeds: dict[str, Array]) -> list[Array]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, feeds))


def _run_evaluator(model: onnx.ModelProto, feeds: dict[str, Array]) -> list[Array]:
    with np.errstate(all="ignore"):
        return list(ReferenceEvaluator(model, new_ops=[*CORRECTED]).run(None, feeds))


def assert_same(actual: Array, expected: Array, tolerance: float = 2e-5, steps: int = 0) -> None:
    """Integers may differ by so many steps."""
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    if expected.dtype.kind in "iu" and steps:
        assert np.abs(actual.astype(np.int64) - expected.astype(np.int64)).max(initial=0) <= steps
        return
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected)
        return
    if expected.dtype.itemsize < 4:
        tolerance = max(tolerance, 4 * float(np.finfo(np.float16).eps) if expected.dtype == np.float16 else 0.04)
    wide = expected.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    scale = max(float(np.max(np.abs(finite), initial=0.0)), 1e-2)
    np.testing.assert_allclose(actual.astype(np.float64), wide, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


def assert_right(
    actual: dict[str, Array],
    model: onnx.ModelProto,
    feeds: dict[str, Array],
    first: dict[str, Array],
    tolerance: float,
    steps: int = 0,
) -> None:
    """The results must be those of a reference: of the first, or, as each has its faults in some version, of the other."""
    try:
        assert list(actual) == list(first)
        for name in first:
            assert_same(actual[name], first[name], tolerance, steps)
    except AssertionError:
        others = list(references(model, feeds))[1:]
        if not others:
            raise
        for name in others[0]:
            assert_same(actual[name], others[0][name], tolerance, steps)


def check_model(model: onnx.ModelProto, feeds: dict[str, Array], tolerance: float = 2e-5, steps: int = 0) -> None:
    """With and without simplification, on the CPU's kernels and on the plain ones."""
    expected = reference(model, feeds)
    for simplify, backend in ((False, "reference"), (True, "auto")):
        assert_right(run_jny(model, feeds, simplify=simplify, backend=backend), model, feeds, expected, tolerance, steps)


def check(
    op: str,
    inputs: Sequence[Array | None],
    *,
    opset: int,
    outputs: int | Sequence[str] = 1,
    constants: Sequence[int] = (),
    tolerance: float = 2e-5,
    symbolic: bool = True,
    domain: str = "",
    steps: int = 0,
    **attributes: Any,
) -> None:
    """One op with operands fed, with all sizes left open, and folded away as a constant."""
    options: dict[str, Any] = {"opset": opset, "outputs": outputs, "attributes": attributes, "domain": domain}
    feeds = {f"x{i}": array for i, array in enumerate(inputs) if array is not None and i not in constants}
    static = make_model(op, inputs, constants=constants, **options)
    expected = reference(static, feeds)
    everything = [i for i, array in enumerate(inputs) if array is not None]
    variants = [(static, feeds), (make_model(op, inputs, constants=everything, **options), {})]
    if symbolic:
        variants.append((make_model(op, inputs, constants=constants, symbolic=True, **options), feeds))
    for model, fed in variants:
        assert_right(run_jny(model, fed), static, feeds, expected, tolerance, steps)


def over_versions(*ops: str, least: int = 7) -> pytest.MarkDecorator:
    """Runs a test for every op and every version in which its definition changed."""
    cases = [(op, opset) for op in ops for opset in versions(op, least)]
    return pytest.mark.parametrize(("op", "opset"), cases, ids=[f"{op}-{opset}" for op, opset in cases])
