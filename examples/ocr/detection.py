"""Finds lines of text in a picture with PP-OCRv4's detector (a "differentiable binarisation" network)."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt
from networks import Network

Image = npt.NDArray[np.uint8]
Quad = npt.NDArray[np.float32]
"""Four corners (x, y), clockwise from the top left."""

SHORT_SIDE = 736
TEXT = 0.3
"""A pixel whose probability is above this is text."""
MEAN_TEXT = 0.5
"""A box whose mean probability is below this is none."""
GROWTH = 1.6
"""The network marks shrunken lines; boxes grow by area × this / perimeter."""
SMALLEST = 3.0


def find_lines(network: Network, image: Image) -> list[Quad]:
    """Boxes of text lines in reading order."""
    probability = network(_prepare(image))[0, 0]
    boxes = _boxes(probability)
    scale = np.array([image.shape[1] / probability.shape[1], image.shape[0] / probability.shape[0]], np.float32)
    limits = np.array([image.shape[1] - 1, image.shape[0] - 1], np.float32)
    return _in_reading_order([np.clip(box * scale, 0, limits).astype(np.float32) for box in boxes])


def _prepare(image: Image) -> npt.NDArray[np.float32]:
    """BGR, the shorter side at least 736, both sides multiples of 32, −1 … 1, NCHW."""
    height, width = image.shape[:2]
    scale = max(1.0, SHORT_SIDE / min(height, width))
    size = [max(32, round(side * scale / 32) * 32) for side in (width, height)]
    resized = cv2.resize(image, size, interpolation=cv2.INTER_LINEAR).astype(np.float32)
    return np.ascontiguousarray(((resized / 255 - 0.5) / 0.5).transpose(2, 0, 1)[np.newaxis])


def _boxes(probability: npt.NDArray[np.float32]) -> list[Quad]:
    mask = cv2.dilate((probability > TEXT).astype(np.uint8), np.ones((2, 2), np.uint8))
    contours, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    boxes: list[Quad] = []
    for contour in contours:
        centre, (width, height), angle = cv2.minAreaRect(contour)
        if min(width, height) < SMALLEST or _mean_inside(probability, contour) < MEAN_TEXT:
            continue
        growth = width * height * GROWTH / (2 * (width + height))
        grown = (centre, (width + 2 * growth, height + 2 * growth), angle)
        boxes.append(_clockwise(cv2.boxPoints(grown)))
    return boxes


def _mean_inside(probability: npt.NDArray[np.float32], contour: npt.NDArray[np.int32]) -> float:
    x, y, width, height = cv2.boundingRect(contour)
    inside = np.zeros((height, width), np.uint8)
    cv2.fillPoly(inside, [contour - [x, y]], 1)
    return float(cv2.mean(probability[y : y + height, x : x + width], inside)[0])


def _clockwise(corners: npt.NDArray[np.float32]) -> Quad:
    """Top left, top right, bottom right, bottom left."""
    by_x = corners[np.argsort(corners[:, 0], kind="stable")]
    left, right = by_x[:2], by_x[2:]
    top_left, bottom_left = left[np.argsort(left[:, 1])]
    top_right, bottom_right = right[np.argsort(right[:, 1])]
    return np.array([top_left, top_right, bottom_right, bottom_left], np.float32)


def _in_reading_order(boxes: list[Quad]) -> list[Quad]:
    """Top to bottom; boxes whose centres differ by less than half a line stand side by side."""
    rows: list[list[Quad]] = []
    for box in sorted(boxes, key=lambda box: float(box[:, 1].mean())):
        if rows and abs(box[:, 1].mean() - rows[-1][0][:, 1].mean()) < np.ptp(box[:, 1]) / 2:
            rows[-1].append(box)
        else:
            rows.append([box])
    return [box for row in rows for box in sorted(row, key=lambda box: float(box[:, 0].mean()))]
