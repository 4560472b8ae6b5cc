"""The OCR example: reads what ONNX Runtime reads on a photographed page, and what was drawn on drawn ones."""

from __future__ import annotations

import difflib
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from ocr import Reader
from real_models import real

import jitney

pytestmark = pytest.mark.models
REPOSITORY = Path(__file__).resolve().parents[2]
DRAWN = {
    "two lines": ["Small machines read", "printed words well"],
    "numbers": ["Order 20417", "Total 98.50 EUR"],
    "one word": ["Jitney"],
}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    folder = tmp_path_factory.mktemp("ocr")
    paths = {}
    for name in ("ppocrv4_det", "ppocrv4_rec"):
        paths[name] = folder / f"{name}.jny"
        jitney.convert(real(name), paths[name], verify=False)
    return Reader(paths["ppocrv4_det"], paths["ppocrv4_rec"])


def test_reads_the_page_as_onnxruntime_does(reader: Reader) -> None:
    page = cv2.imread(str(real("page")))
    reference = Reader(real("ppocrv4_det"), real("ppocrv4_rec"), runtime="onnxruntime")
    ours = "\n".join(line.text for line in reader.read(page))
    theirs = "\n".join(line.text for line in reference.read(page))
    assert "Region-based segmentation" in theirs
    same = sum(block.size for block in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks())
    assert same >= 0.99 * max(len(ours), len(theirs)), f"{ours}\n---\n{theirs}"


@pytest.mark.parametrize("name", DRAWN)
def test_reads_what_was_drawn(reader: Reader, name: str) -> None:
    page = np.full((260, 640, 3), 245, np.uint8)
    for number, text in enumerate(DRAWN[name]):
        cv2.putText(page, text, (40, 90 + 90 * number), cv2.FONT_HERSHEY_DUPLEX, 1.3, (20, 20, 20), 2, cv2.LINE_AA)
    read = [line.text.replace(" ", "") for line in reader.read(page)]
    assert read == [text.replace(" ", "") for text in DRAWN[name]]


def test_a_blank_picture_has_no_lines(reader: Reader) -> None:
    assert reader.read(np.full((100, 300, 3), 200, np.uint8)) == []


@pytest.mark.parametrize("size", [(5, 5), (33, 700), (700, 33)])
def test_pictures_of_any_size(reader: Reader, size: tuple[int, int]) -> None:
    assert reader.read(np.full((*size, 3), 255, np.uint8)) == []


def test_demo_names_a_picture_that_cannot_be_read(tmp_path: Path) -> None:
    real("ppocrv4_det")
    real("ppocrv4_rec")
    command = [sys.executable, str(REPOSITORY / "examples" / "ocr" / "demo.py"), "--image", str(tmp_path / "missing.png")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "missing.png" in result.stderr
