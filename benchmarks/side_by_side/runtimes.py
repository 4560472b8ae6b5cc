"""How each runtime converts a model, loads it and runs it: float32, on CPUs, tuned for the latency of one run."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Run = Callable[[], Sequence[Array]]


@dataclass(frozen=True)
class Task:
    """What is to be run."""

    model: Path
    """The ONNX model."""
    converted: Path
    """Where the runtime's own files lie; suffixes are added."""
    feeds: Mapping[str, Array]
    outputs: Sequence[str]
    threads: int


@dataclass(frozen=True)
class Runtime:
    """One that takes part. `load` is called in a process that has imported `module`, and nothing else but NumPy."""

    title: str
    package: str
    module: str
    load: Callable[[Task], Run]
    convert: Callable[[Task], None] | None = None
    files: tuple[str, ...] = ()
    """Suffixes of what convert() writes."""

    def version(self) -> str | None:
        """None if it is not installed."""
        if importlib.util.find_spec(self.module) is None:
            return None
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return "unknown"


def conversion_key(runtime: Runtime, model: bytes, feeds: Mapping[str, Array]) -> str:
    """Changes with the model, the shapes and the converter. Letters and digits only: ncnn's converter alters other names."""
    digest = hashlib.sha256(model)
    digest.update(repr((runtime.version(), [(name, array.shape) for name, array in feeds.items()])).encode())
    return runtime.module.lower() + digest.hexdigest()[:16]


def _load_jitney(task: Task) -> Run:
    import jitney

    session = jitney.Session(f"{task.converted}.jny", threads=task.threads)
    feeds, outputs = dict(task.feeds), list(task.outputs)

    def run() -> list[Array]:
        results = session.run(feeds)
        return [results[name] for name in outputs]

    return run


def _convert_for_jitney(task: Task) -> None:
    import jitney

    jitney.convert(task.model, f"{task.converted}.jny", verify=False)


def _load_ort(task: Task) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = task.threads, 1
    session = onnxruntime.InferenceSession(str(task.model), options, providers=["CPUExecutionProvider"])
    feeds, outputs = dict(task.feeds), list(task.outputs)
    return lambda: session.run(outputs, feeds)


def _load_openvino(task: Task) -> Run:
    import openvino

    core = openvino.Core()
    settings = {
        "INFERENCE_NUM_THREADS": task.threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    request = core.compile_model(core.read_model(str(task.model)), "CPU", settings).create_infer_request()

    def run() -> list[Array]:
        results = request.infer(dict(task.feeds))
        return [results[name] for name in task.outputs]

    return run


def _convert_for_mnn(task: Task) -> None:
    # The stock converter installs packages and reports its use to its makers: it is run without the module that does so.
    code = (
        "import sys, types; m = types.ModuleType('MNN.tools.utils.log'); m.mnn_logger = None; "
        "sys.modules['MNN.tools.utils.log'] = m; from MNN.tools import mnnconvert; mnnconvert.main()"
    )
    options = ["-f", "ONNX", "--modelFile", str(task.model), "--MNNModel", f"{task.converted}.mnn", "--bizCode", "x"]
    subprocess.run([sys.executable, "-c", code, *options], check=True, env={**os.environ, "PIP_NO_INDEX": "1"})


def _load_mnn(task: Task) -> Run:
    import MNN
    from MNN import expr

    settings = ({"backend": "CPU", "numThread": task.threads, "precision": "high"},)
    manager = MNN.nn.create_runtime_manager(settings)
    net = MNN.nn.load_module_from_file(f"{task.converted}.mnn", list(task.feeds), list(task.outputs), runtime_manager=manager)
    kinds = {array.dtype: expr.float if array.dtype == np.float32 else expr.int for array in task.feeds.values()}
    variables = [expr.const(array, list(array.shape), expr.NCHW, kinds[array.dtype]) for array in task.feeds.values()]

    def run() -> list[Array]:
        results = net.forward(variables)
        return [np.array(result.read()) for result in (results if isinstance(results, (list, tuple)) else [results])]

    return run


def _convert_for_ncnn(task: Task) -> None:
    found = importlib.util.find_spec("pnnx")
    if found is None or not found.submodule_search_locations:
        raise RuntimeError("ncnn's converter is not installed: pip install --no-deps pnnx")
    program = Path(found.submodule_search_locations[0]) / "pnnx"
    copy = Path(f"{task.converted}.onnx")  # it writes beside its input
    shutil.copy(task.model, copy)
    shapes = ",".join("[" + ",".join(map(str, array.shape)) + "]" for array in task.feeds.values())
    subprocess.run([str(program), str(copy), f"inputshape={shapes}", "fp16=0"], check=True)


def _load_ncnn(task: Task) -> Run:
    import ncnn

    net = ncnn.Net()
    net.opt.num_threads = task.threads
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = net.opt.use_bf16_storage = False
    net.load_param(f"{task.converted}.ncnn.param")
    net.load_model(f"{task.converted}.ncnn.bin")
    arrays = list(task.feeds.values())

    def run() -> list[Array]:
        extractor = net.create_extractor()
        for index, array in enumerate(arrays):
            extractor.input(f"in{index}", ncnn.Mat(array[0]).clone())
        return [np.array(extractor.extract(f"out{index}")[1])[None] for index in range(len(task.outputs))]

    return run


RUNTIMES: dict[str, Runtime] = {
    "ort": Runtime("ONNX Runtime", "onnxruntime", "onnxruntime", _load_ort),
    "openvino": Runtime("OpenVINO", "openvino", "openvino", _load_openvino),
    "mnn": Runtime("MNN", "MNN", "MNN", _load_mnn, _convert_for_mnn, (".mnn",)),
    "ncnn": Runtime("ncnn", "ncnn", "ncnn", _load_ncnn, _convert_for_ncnn, (".ncnn.param", ".ncnn.bin")),
    "jitney": Runtime("Jitney", "jitney", "jitney", _load_jitney, _convert_for_jitney, (".jny",)),
}
