"""ONNX's own backend test-suite, made from the installed onnx package: models, inputs, expected outputs, tolerances."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, OptionalProto, SequenceProto, TensorProto, numpy_helper
from onnx.backend import test as onnx_test
from onnx.backend.test.case.model import collect_testcases
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

DATA = Path(onnx_test.__file__).parent / "data"


@dataclass
class Case:
    """One test: a model, and for each data set its inputs and the outputs that it must give."""

    name: str
    model: ModelProto
    data_sets: list[tuple[list[Any], list[Any]]]
    rtol: float
    atol: float


def load_cases() -> list[Case]:
    """All tests, sorted by name. Those of single nodes and the simple ones are generated in code, the others lie in the wheel."""
    cases: dict[str, Case] = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for test in (*load_model_tests(kind="node"), *collect_testcases()):
            if test.kind != "real":  # these are downloaded models; the wheel has light forms of them
                sets = [([_value(item) for item in fed], [_value(item) for item in wanted]) for fed, wanted in test.data_sets]
                cases[f"{test.kind}/{test.name}"] = Case(f"{test.kind}/{test.name}", test.model, sets, test.rtol, test.atol)
    for case in (*_stored(), *_light()):
        cases.setdefault(case.name, case)
    return [cases[name] for name in sorted(cases)]


def _stored() -> Iterator[Case]:
    """Tests that the wheel has as folders of a model and its data."""
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        for test in load_model_tests(kind=kind):
            folder = DATA / kind / test.name
            model = onnx.load(folder / "model.onnx")
            sets = []
            for data in sorted(folder.glob("test_data_set_*")):
                fed = _read_all(data, "input", model.graph.input)
                wanted = _read_all(data, "output", model.graph.output)
                sets.append((fed, wanted))
            yield Case(f"{kind}/{test.name}", model, sets, test.rtol, test.atol)


def _light() -> Iterator[Case]:
    """Whole networks with little weights; their inputs are made as onnx's own runner makes them."""
    for path in sorted((DATA / "light").glob("*.onnx")):
        name = "test_" + path.stem.removeprefix("light_")
        model = onnx.load(path)
        fixed = {tensor.name for tensor in model.graph.initializer}
        fed = [Runner.generate_dummy_data(info, name=name) for info in model.graph.input if info.name not in fixed]
        outputs = model.graph.output
        wanted = [_read(path.with_name(f"{path.stem}_output_{i}.pb"), info.type) for i, info in enumerate(outputs)]
        yield Case(f"light/{name}", model, [(fed, wanted)], 1e-3, 1e-7)


def _value(item: Any) -> Any:
    """Generated cases hold some of their tensors as protos."""
    return numpy_helper.to_array(item) if isinstance(item, TensorProto) else item


def _read_all(folder: Path, word: str, infos: Iterable[onnx.ValueInfoProto]) -> list[Any]:
    """The values that are there: inputs with a default come last and may have none."""
    paths = [(folder / f"{word}_{index}.pb", info.type) for index, info in enumerate(infos)]
    return [_read(path, declared) for path, declared in paths if path.exists()]


def _read(path: Path, declared: onnx.TypeProto) -> Any:
    data = path.read_bytes()
    if declared.HasField("sequence_type"):
        sequence = SequenceProto()
        sequence.ParseFromString(data)
        return numpy_helper.to_list(sequence)
    if declared.HasField("optional_type"):
        optional = OptionalProto()
        optional.ParseFromString(data)
        return numpy_helper.to_optional(optional)
    tensor = TensorProto()
    tensor.ParseFromString(data)
    return numpy_helper.to_array(tensor)
