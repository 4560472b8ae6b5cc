"""jitney.ort in the place of onnxruntime: names, submodules, scripts, child processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from ort_contract import one_op

from jitney.ort import __version__
from jitney.ort.install import SHIM


def run(*arguments: str, folder: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    environment = os.environ | {"JITNEY_CACHE": "off"} | environment
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def output(*arguments: str, folder: Path | None = None) -> list[str]:
    result = run("-m", "jitney.ort", *arguments, folder=folder)
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def test_importing_jitney_does_not_load_it() -> None:
    assert run("-c", "import jitney, sys; assert 'jitney.ort' not in sys.modules").returncode == 0


def test_importing_it_is_light() -> None:
    code = "import jitney.ort, sys; print({'onnx', 'ml_dtypes', 'jitney.converter', 'onnxruntime'} & set(sys.modules))"
    assert run("-c", code).stdout.strip() == "set()"


def test_names_and_submodules() -> None:
    code = """
import onnxruntime, onnxruntime as rt
import onnxruntime.capi._pybind_state as C
import onnxruntime.capi.onnxruntime_pybind11_state
from onnxruntime import InferenceSession, SessionOptions
from onnxruntime.capi.onnxruntime_pybind11_state import NoSuchFile, InvalidArgument
from onnxruntime.capi.onnxruntime_inference_collection import OrtValue
import jitney.ort, importlib, importlib.util, importlib.metadata, sys
assert onnxruntime is jitney.ort
assert onnxruntime.capi.onnxruntime_pybind11_state.NoSuchFile is NoSuchFile
assert jitney.ort.capi.onnxruntime_pybind11_state.NoSuchFile is NoSuchFile
assert OrtValue is onnxruntime.OrtValue
assert C.get_available_providers() == ["CPUExecutionProvider"]
assert importlib.import_module("onnxruntime") is rt
assert importlib.util.find_spec("onnxruntime") is not None
assert importlib.util.find_spec("onnxruntime.capi") is not None
assert importlib.util.find_spec("onnxruntime.nonsense") is None
assert importlib.metadata.version("onnxruntime") == onnxruntime.__version__
assert importlib.metadata.distribution("onnxruntime").metadata["Name"] == "onnxruntime"
for name in list(sys.modules):
    if name.startswith("onnxruntime"):
        assert sys.modules[name] is sys.modules[name.replace("onnxruntime", "jitney.ort", 1)], name
print("fine")
"""
    assert output("-c", code) == ["fine"]


def test_names_by_star() -> None:
    code = (
        "from onnxruntime.capi._pybind_state import *\nfrom onnxruntime import *\nprint(SessionOptions.__name__, Fail.__name__)"
    )
    assert output("-c", code) == ["SessionOptions", "Fail"]


def test_the_version_is_that_of_the_entry_among_packages() -> None:
    # A file, not a folder *.dist-info: builders of wheels leave such folders out.
    (entry,) = SHIM.glob("*-info")
    assert entry.name == f"onnxruntime-{__version__}.egg-info"
    assert f"Version: {__version__}\n" in entry.read_text(encoding="utf-8")


def test_offline_parts_can_be_imported_but_not_called() -> None:
    code = """
from onnxruntime.quantization import QuantType, quantize_dynamic, CalibrationDataReader
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime.transformers.onnx_model import OnnxModel
from onnxruntime.transformers.models.gpt2.helper import Gpt2Helper
from onnxruntime.transformers.io_binding_helper import TypeHelper, IOBindingHelper
import onnxruntime.tools.symbolic_shape_infer
import numpy as np, jitney
from onnxruntime.quantization.quant_utils import QuantType as same
from onnxruntime.quantization.registry import IntegerOpsRegistry
class Reader(CalibrationDataReader):
    kind = QuantType.QInt8
assert list(IntegerOpsRegistry.keys()) == []
assert same.from_string("QUInt8") is QuantType["QUInt8"] is QuantType(1) and str(QuantType.QUInt8) == "QUInt8"
for call in (quantize_dynamic, quant_pre_process, OnnxModel, Reader, Gpt2Helper.load, IOBindingHelper):
    try:
        call("model.onnx")
    except jitney.Unsupported as error:
        print("is" if "is not part of jitney.ort" in str(error) else str(error))
assert TypeHelper.ort_type_to_numpy_type("tensor(float16)") is np.float16
assert TypeHelper.ort_type_to_numpy_type("tensor(bool)") is bool
try:
    import onnxruntime.training
except ModuleNotFoundError as error:
    print("training" if "training" in str(error) else "")
"""
    assert output("-c", code) == ["is"] * 6 + ["training"]


PROGRAM = """
import sys, os, onnxruntime
print(__name__, len(sys.argv), sys.argv[1], os.path.basename(sys.path[0]), onnxruntime.__file__.split(os.sep)[-2])
"""


def test_scripts_modules_and_code(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "program.py").write_text(PROGRAM + "import neighbour\nprint(os.path.basename(__file__), sys.argv[0])\n")
    (tmp_path / "sub" / "neighbour.py").write_text("import onnxruntime\n")
    path = str(Path("sub", "program.py"))
    assert output(path, "-x", folder=tmp_path) == ["__main__", "2", "-x", "sub", "ort", "program.py", path]
    (tmp_path / "module.py").write_text(PROGRAM)
    assert output("-m", "module", "-x", folder=tmp_path) == ["__main__", "2", "-x", tmp_path.name, "ort"]
    assert output("-c", PROGRAM, "-x", folder=tmp_path)[:3] == ["__main__", "2", "-x"]


def test_exits_and_errors_pass_through(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys\nsys.exit(7)\n")
    assert run("-m", "jitney.ort", str(tmp_path / "program.py")).returncode == 7
    (tmp_path / "program.py").write_text("def f():\n    raise KeyError('here')\nf()\n")
    result = run("-m", "jitney.ort", str(tmp_path / "program.py"))
    assert result.returncode == 1
    assert 'program.py", line 2, in f' in result.stderr
    assert run("-m", "jitney.ort", str(tmp_path / "none.py")).returncode == 2
    for arguments in ([], ["-m"], ["-c"]):
        result = run("-m", "jitney.ort", *arguments)
        assert (result.returncode, result.stdout) == (2, "")
        assert "usage" in result.stderr
    assert "usage" in run("-m", "jitney.ort", "--help").stdout


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_child_processes(tmp_path: Path, method: str) -> None:
    onnx.save(one_op("Relu", ["N"]), tmp_path / "m.onnx")
    (tmp_path / "program.py").write_text(f"""
import multiprocessing, subprocess, sys
import numpy as np

def work(number):
    import onnxruntime
    loaded = onnxruntime.InferenceSession({str(tmp_path / "m.onnx")!r})
    return onnxruntime.get_build_info().split()[0], loaded.run(None, {{"x": np.full(1, number, np.float32)}})[0].tolist()

if __name__ == "__main__":
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        print(pool.map(work, [1, 2]) == [("Jitney", [1.0]), ("Jitney", [2.0])])
    code = "import importlib.metadata as m; print(m.version('onnxruntime'));"
    code += "import onnxruntime; print(onnxruntime.get_build_info().split()[0])"
    print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
""")
    assert output(str(tmp_path / "program.py")) == ["True", __version__, "Jitney"]


def test_inside_a_program() -> None:
    code = """
import os, jitney.ort
jitney.ort.install(children=False)
jitney.ort.install()
jitney.ort.install()
import onnxruntime
assert onnxruntime is jitney.ort
assert os.environ["PYTHONPATH"].count("shim") == 1
"""
    result = run("-c", code)
    assert result.returncode == 0, result.stderr


def test_too_late() -> None:
    code = "import onnxruntime, jitney.ort; jitney.ort.install()"
    result = run("-c", code)
    assert result.returncode == 1
    assert "onnxruntime has been imported already" in result.stderr


def test_verification_is_not_deceived(tmp_path: Path) -> None:
    # With jitney.ort in ONNX Runtime's place, a model must not be compared with itself: that would show in the cache.
    onnx.save(one_op("Relu", ["N"]), tmp_path / "m.onnx")
    code = "import jitney; print(jitney.convert('m.onnx').verification.outcome)"
    result = run("-m", "jitney.ort", "-c", code, folder=tmp_path, JITNEY_CACHE=str(tmp_path / "cache"))
    assert result.stdout == "verified\n"
    assert not (tmp_path / "cache").exists()
