"""The models that are compared: well-known graphs from zoo.py and real ones from the catalogue, with shapes and inputs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from zoo import ZOO

Array = npt.NDArray[np.generic]
Shapes = Mapping[str, tuple[int, ...]]

_FROM_ZOO = ("mobilenet_v1", "mobilenet_v2", "mobilenet_v3_small", "squeezenet11", "resnet18", "resnet50", "minilm_encoder")
_TOKENS = dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), (1, 128))
_FROM_CATALOGUE: dict[str, Shapes] = {
    "nudenet_320n": {"images": (1, 3, 320, 320)},
    "ppocrv4_det": {"x": (1, 3, 640, 640)},
    "ppocrv4_rec": {"x": (1, 3, 48, 320)},
    "opennsfw_resnet50": {"input:0": (1, 224, 224, 3)},
    "minilm_l6_int8": _TOKENS,
}
NAMES = (*_FROM_ZOO, *_FROM_CATALOGUE)


@dataclass(frozen=True)
class Contestant:
    """A model and what it is fed."""

    name: str
    path: Path
    feeds: dict[str, Array]
    outputs: tuple[str, ...]


def find(name: str, folder: Path, shapes: Shapes) -> Contestant:
    """A model by name (made or fetched if need be), or the ONNX file of that path; `shapes` fixes open sizes of the latter."""
    if name in _FROM_ZOO:
        return _contestant(name, _from_zoo(name, folder), {})
    if name in _FROM_CATALOGUE:
        return _contestant(name, _fetched(name), _FROM_CATALOGUE[name])
    if not Path(name).is_file():
        raise FileNotFoundError(f"{name} is neither a file nor one of: {', '.join(NAMES)}")
    return _contestant(Path(name).stem, Path(name), shapes)


def _from_zoo(name: str, folder: Path) -> Path:
    path = folder / f"{name}.onnx"
    build: Callable[[], onnx.ModelProto] = ZOO[name]
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(build(), path)
    return path


def _fetched(name: str) -> Path:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "models"))
    from fetch import fetch

    found: Path = fetch([name])[name]
    return found


def _contestant(name: str, path: Path, shapes: Shapes) -> Contestant:
    graph = onnx.load(path, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    random = np.random.default_rng(7)
    feeds = {}
    for value in graph.input:
        if value.name in constants:
            continue
        tensor = value.type.tensor_type
        shape = shapes.get(value.name) or tuple(dim.dim_value if dim.dim_value > 0 else 1 for dim in tensor.shape.dim)
        feeds[value.name] = _drawn(random, shape, onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    return Contestant(name, path, feeds, tuple(value.name for value in graph.output))


def _drawn(random: np.random.Generator, shape: Sequence[int], dtype: np.dtype[np.generic]) -> Array:
    """Normal numbers; integers are 0 or 1, which suits tokens, masks and types alike."""
    if np.issubdtype(dtype, np.floating):
        return random.standard_normal(shape).astype(dtype)
    return random.integers(0, 2, shape).astype(dtype)
