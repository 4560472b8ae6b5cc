"""A network as a function from one array to one array, on Jitney or, to compare, on ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

import jitney

Network = Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]]


def on_jitney(path: Path, threads: int) -> tuple[Network, dict[str, str]]:
    """(network, metadata of the ONNX model) of a .jny file."""
    session = jitney.Session(path, threads=threads)
    output = session.outputs[0].name
    prefix = "onnx.meta."
    metadata = {key[len(prefix) :]: value for key, value in session.metadata.items() if key.startswith(prefix)}
    return lambda array: session.run(array)[output], metadata


def on_onnxruntime(path: Path, threads: int) -> tuple[Network, dict[str, str]]:
    """The same for an .onnx file."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda array: session.run(None, {name: array})[0], session.get_modelmeta().custom_metadata_map
