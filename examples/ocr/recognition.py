"""Reads one line of text with PP-OCRv4's recogniser."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt
from detection import Image, Quad
from networks import Network

HEIGHT = 48
LEAST_WIDTH = 320


def read_line(network: Network, charset: Sequence[str], image: Image) -> tuple[str, float]:
    """(text, confidence) of a picture that shows one line."""
    return decode(network(_prepare(image))[0], charset)


def crop(image: Image, box: Quad) -> Image:
    """The part of the picture inside the box, turned upright."""
    width = round(max(np.linalg.norm(box[0] - box[1]), np.linalg.norm(box[2] - box[3])))
    height = round(max(np.linalg.norm(box[0] - box[3]), np.linalg.norm(box[1] - box[2])))
    width, height = max(width, 1), max(height, 1)
    target = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    transform = cv2.getPerspectiveTransform(box, target)
    part = cv2.warpPerspective(image, transform, (width, height), borderMode=cv2.BORDER_REPLICATE, flags=cv2.INTER_CUBIC)
    return np.rot90(part) if height >= 1.5 * width else part


def charset_from(characters: str) -> list[str]:
    """The network's classes: blank, the listed characters, and space."""
    return ["", *characters.split("\n"), " "]


def decode(probability: npt.NDArray[np.float32], charset: Sequence[str]) -> tuple[str, float]:
    """CTC: takes the best class at each position, then drops repetitions and blanks. Confidence is the mean over what is kept."""
    best = probability.argmax(axis=1)
    kept = (best != 0) & np.concatenate([[True], best[1:] != best[:-1]])
    if not kept.any():
        return "", 0.0
    text = "".join(charset[index] for index in best[kept])
    return text, float(probability.max(axis=1)[kept].mean())


def _prepare(image: Image) -> npt.NDArray[np.float32]:
    """BGR, 48 high, padded on the right to at least 320, −1 … 1 (padding is 0), NCHW."""
    width = max(1, round(HEIGHT * image.shape[1] / image.shape[0]))
    resized = cv2.resize(image, (width, HEIGHT), interpolation=cv2.INTER_LINEAR).astype(np.float32)
    batch = np.zeros((1, 3, HEIGHT, max(width, LEAST_WIDTH)), np.float32)
    batch[0, :, :, :width] = ((resized / 255 - 0.5) / 0.5).transpose(2, 0, 1)
    return batch
