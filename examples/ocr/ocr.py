"""Reads text in pictures: detection finds the lines, recognition reads each."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from detection import Image, Quad, find_lines
from networks import on_jitney, on_onnxruntime
from recognition import charset_from, crop, read_line


@dataclass(frozen=True)
class Line:
    """A line of text, where it stands, and how sure the network is (0 … 1)."""

    text: str
    confidence: float
    box: Quad
    seconds: float


class Reader:
    """Both networks, loaded once."""

    def __init__(self, detector: Path, recogniser: Path, *, runtime: str = "jitney", threads: int = 0) -> None:
        """The paths are .jny files, or .onnx files if `runtime` is "onnxruntime"."""
        load = on_jitney if runtime == "jitney" else on_onnxruntime
        self._detector, _ = load(detector, threads)
        self._recogniser, metadata = load(recogniser, threads)
        self._charset = charset_from(metadata["character"])
        self.detection_seconds = 0.0

    def read(self, image: Image) -> list[Line]:
        """The lines of text of a BGR picture, in reading order."""
        start = time.perf_counter()
        boxes = find_lines(self._detector, image)
        self.detection_seconds = time.perf_counter() - start
        lines: list[Line] = []
        for box in boxes:
            start = time.perf_counter()
            text, confidence = read_line(self._recogniser, self._charset, crop(image, box))
            if confidence >= 0.5:
                lines.append(Line(text, confidence, box, time.perf_counter() - start))
        return lines


def draw_boxes(image: Image, lines: list[Line]) -> Image:
    """A copy of the picture with each line's box and number."""
    drawn = image.copy()
    for number, line in enumerate(lines, 1):
        corners = np.round(line.box).astype(np.int32)
        cv2.polylines(drawn, [corners], isClosed=True, color=(0, 0, 255), thickness=1, lineType=cv2.LINE_AA)
        position = (int(corners[0, 0]), max(8, int(corners[0, 1]) - 2))
        cv2.putText(drawn, str(number), position, cv2.FONT_HERSHEY_SIMPLEX, 0.35, (255, 0, 0), 1, cv2.LINE_AA)
    return drawn
