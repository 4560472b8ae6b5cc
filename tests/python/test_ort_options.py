"""jitney.ort's options, enumerations, providers, globals. Run on ONNX Runtime too."""

from __future__ import annotations

import copy
import importlib
import json
import os
import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnxruntime as theirs
import pytest
from onnx import helper
from ort_contract import adding, both, exceptions, model, ones, session, value_info

import jitney

DEFAULTS = {
    "enable_cpu_mem_arena": True,
    "enable_mem_pattern": True,
    "enable_mem_reuse": True,
    "enable_profiling": False,
    "inter_op_num_threads": 0,
    "intra_op_num_threads": 0,
    "log_severity_level": -1,
    "log_verbosity_level": 0,
    "logid": "",
    "optimized_model_filepath": "",
    "profile_file_prefix": "onnxruntime_profile_",
    "use_deterministic_compute": False,
    "use_per_session_threads": True,
}


@both
def test_defaults(ort: ModuleType) -> None:
    options = ort.SessionOptions()
    assert {name: getattr(options, name) for name in DEFAULTS} == DEFAULTS
    assert options.graph_optimization_level == ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    assert options.execution_mode == ort.ExecutionMode.ORT_SEQUENTIAL
    assert options.execution_order == ort.ExecutionOrder.DEFAULT
    run = ort.RunOptions()
    names = ("log_severity_level", "log_verbosity_level", "logid", "only_execute_path_to_fetches", "terminate")
    assert [getattr(run, name) for name in names] == [-1, 0, "", False, False]


@both
@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("intra_op_num_threads", 4, 4),
        ("intra_op_num_threads", -1, -1),
        ("intra_op_num_threads", np.int64(3), 3),
        ("inter_op_num_threads", True, 1),
        ("log_severity_level", 99, 99),
        ("enable_cpu_mem_arena", 0, False),
        ("enable_mem_pattern", None, False),
        ("enable_mem_reuse", np.bool_(True), True),
        ("profile_file_prefix", "p", "p"),
        ("logid", b"x", "x"),
    ],
)
def test_values_are_kept(ort: ModuleType, name: str, value: Any, kept: Any) -> None:
    options = ort.SessionOptions()
    setattr(options, name, value)
    assert getattr(options, name) == kept
    assert type(getattr(options, name)) is type(kept)


@both
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("intra_op_num_threads", 2.5),
        ("intra_op_num_threads", "1"),
        ("intra_op_num_threads", None),
        ("intra_op_num_threads", 10**12),
        ("graph_optimization_level", 99),
        ("graph_optimization_level", None),
        ("execution_mode", 0),
        ("execution_order", 1),
        ("enable_cpu_mem_arena", "x"),
        ("profile_file_prefix", 5),
        ("profile_file_prefix", Path("p")),
        ("logid", None),
    ],
)
def test_wrong_types(ort: ModuleType, name: str, value: Any) -> None:
    with pytest.raises(TypeError):
        setattr(ort.SessionOptions(), name, value)


@both
def test_options_are_closed_and_single(ort: ModuleType) -> None:
    for options in (ort.SessionOptions(), ort.RunOptions()):
        with pytest.raises(AttributeError):
            options.unknown = 1
        with pytest.raises(AttributeError):
            options.unknown  # noqa: B018
        with pytest.raises(TypeError):
            copy.copy(options)
        with pytest.raises(TypeError):
            pickle.dumps(options)
    with pytest.raises(TypeError):
        ort.SessionOptions(1)
    for wrong in (5, "x"):
        with pytest.raises(TypeError):
            session(ort, adding(), wrong)
        with pytest.raises(TypeError):
            session(ort, adding()).run(None, {"left": ones(1, 2), "right": ones(1, 2)}, wrong)


@both
def test_entries(ort: ModuleType) -> None:
    for options, add, get in (
        (ort.SessionOptions(), "add_session_config_entry", "get_session_config_entry"),
        (ort.RunOptions(), "add_run_config_entry", "get_run_config_entry"),
    ):
        getattr(options, add)("any.key", "value")
        assert getattr(options, get)("any.key") == "value"
        with pytest.raises(RuntimeError, match="does not have configuration with key: other"):
            getattr(options, get)("other")
        with pytest.raises(TypeError):
            getattr(options, add)("key", 1)


@both
def test_enumerations(ort: ModuleType) -> None:
    level = ort.GraphOptimizationLevel
    assert {name: int(member) for name, member in level.__members__.items()} == {
        "ORT_DISABLE_ALL": 0,
        "ORT_ENABLE_BASIC": 1,
        "ORT_ENABLE_EXTENDED": 2,
        "ORT_ENABLE_LAYOUT": 3,
        "ORT_ENABLE_ALL": 99,
    }
    assert level.ORT_ENABLE_ALL == 99
    assert level(1) == level.ORT_ENABLE_BASIC
    assert str(level.ORT_ENABLE_ALL) == "GraphOptimizationLevel.ORT_ENABLE_ALL"
    assert repr(level.ORT_ENABLE_ALL) == "<GraphOptimizationLevel.ORT_ENABLE_ALL: 99>"
    assert level.ORT_ENABLE_ALL.name == "ORT_ENABLE_ALL"


ENUMERATIONS = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "OrtAllocatorType",
    "OrtCompileApiFlags",
    "OrtDeviceMemoryType",
    "OrtDeviceVendorId",
    "OrtExecutionProviderDevicePolicy",
    "OrtHardwareDeviceType",
    "OrtMemType",
    "OrtMemoryInfoDeviceType",
    "OrtSparseFormat",
]


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_enumerations_are_theirs(ort: ModuleType, name: str) -> None:

    def numbers(module: ModuleType) -> dict[str, int]:
        return {key: int(member) for key, member in getattr(module, name).__members__.items()}

    assert numbers(ort) == numbers(theirs)


@pytest.mark.parametrize("name", ["QuantType", "QuantFormat", "QuantizationMode", "CalibrationMethod"])
def test_choices_of_the_quantiser_are_theirs(name: str) -> None:
    their_module = importlib.import_module(
        "onnxruntime.quantization.calibrate" if name[0] == "C" else "onnxruntime.quantization.quant_utils"
    )
    ours = importlib.import_module("jitney.ort.quantization")
    assert {m.name: m.value for m in getattr(ours, name)} == {m.name: m.value for m in getattr(their_module, name)}


@both
def test_free_dimensions(ort: ModuleType) -> None:
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name("N", 3)
    options.add_free_dimension_override_by_name("unknown", 3)
    loaded = session(ort, adding(), sess_options=options)
    assert [arg.shape for arg in loaded.get_inputs() + loaded.get_outputs()] == [[3, 2]] * 4
    assert loaded.run(None, {"left": ones(3, 2), "right": ones(3, 2)})[0].shape == (3, 2)
    with pytest.raises(exceptions(ort).InvalidArgument, match="index: 0 Got: 2 Expected: 3"):
        loaded.run(None, {"left": ones(2, 2), "right": ones(2, 2)})
    with pytest.raises(TypeError):
        options.add_free_dimension_override_by_name("N", "3")


@both
def test_initializers_from_the_program(ort: ModuleType) -> None:
    node = helper.make_node("Add", ["x", "w"], ["y"])
    proto = model([node], [value_info("x", ["N", 2])], [value_info("y", ["N", 2])], {"w": ones(2)})
    options = ort.SessionOptions()
    value = ort.OrtValue.ortvalue_from_numpy(50 * ones(2))
    options.add_initializer("w", value)
    unrelated = ort.OrtValue.ortvalue_from_numpy(ones(1))
    options.add_initializer("unknown", unrelated)
    assert session(ort, proto, options).run(None, {"x": ones(1, 2)})[0].tolist() == [[51, 51]]
    assert session(ort, proto).run(None, {"x": ones(1, 2)})[0].tolist() == [[2, 2]]
    with pytest.raises(RuntimeError, match="must be an OrtValue"):
        options.add_initializer("w", ones(2))
    with pytest.raises(RuntimeError, match="equal length"):
        options.add_external_initializers(["w"], [])


@both
def test_terminate(ort: ModuleType) -> None:
    options = ort.RunOptions()
    options.terminate = True
    with pytest.raises(exceptions(ort).Fail, match="terminate flag"):
        session(ort, adding()).run(None, {"left": ones(1, 2), "right": ones(1, 2)}, options)


@both
def test_profiling(ort: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = "mine"
    loaded = session(ort, adding(), options)
    loaded.run(None, {"left": ones(1, 2), "right": ones(1, 2)})
    path = loaded.end_profiling()
    assert path.startswith("mine_")
    events = json.loads((tmp_path / path).read_text(encoding="utf-8"))
    nodes = [event for event in events if event["cat"] == "Node"]
    assert nodes
    assert all(event["args"]["provider"] == "CPUExecutionProvider" and event["dur"] >= 0 for event in nodes)
    assert loaded.end_profiling() == ""
    assert session(ort, adding()).end_profiling() == ""
    assert isinstance(loaded.get_profiling_start_time_ns(), int)


@both
def test_the_session_tells_its_options(ort: ModuleType) -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    told = session(ort, adding(), options).get_session_options()
    assert told.intra_op_num_threads == 2
    assert told is not options
    assert session(ort, adding()).get_session_options().intra_op_num_threads == 0


@both
@pytest.mark.parametrize("threads", [-1, 0, 1, 3])
def test_thread_counts(ort: ModuleType, threads: int) -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    assert session(ort, adding(), options).run(None, {"left": ones(1, 2), "right": ones(1, 2)})[0].tolist() == [[2, 2]]


CPU = ["CPUExecutionProvider"]


@both
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "providers",
    [None, [], CPU, tuple(CPU), [("CPUExecutionProvider", {"arena_extend_strategy": "kNextPowerOfTwo"})]],
)
def test_the_cpu_needs_no_warning(ort: ModuleType, providers: Any) -> None:
    loaded = session(ort, adding(), None, providers)
    assert loaded.get_providers() == CPU
    assert loaded.get_provider_options() == {"CPUExecutionProvider": {}}


@both
@pytest.mark.parametrize(
    ("providers", "words"),
    [
        (["CUDAExecutionProvider", *CPU], "Specified provider 'CUDAExecutionProvider' is not in available provider names"),
        ([("CUDAExecutionProvider", {"device_id": 0})], "Specified provider 'CUDAExecutionProvider'"),
        (["BogusExecutionProvider"], "Specified provider 'BogusExecutionProvider'"),
        (CPU * 2, "Duplicate provider 'CPUExecutionProvider' encountered, ignoring."),
    ],
)
def test_other_providers_warn_and_run_on_the_cpu(ort: ModuleType, providers: Any, words: str) -> None:
    with pytest.warns(UserWarning, match=words):
        loaded = session(ort, adding(), providers=providers)
    assert loaded.get_providers() == CPU


@both
@pytest.mark.parametrize(
    "arguments", [{"providers": [5]}, {"providers": [("x",)]}, {"providers": CPU, "provider_options": [{}, {}]}]
)
@pytest.mark.filterwarnings("ignore")
def test_misshapen_providers_run_on_the_cpu(ort: ModuleType, arguments: Any) -> None:
    assert session(ort, adding(), **arguments).get_providers() == CPU


@both
def test_other_arguments(ort: ModuleType) -> None:
    loaded = session(ort, adding(), None, CPU, [{"a": "1"}], enable_fallback=0, disabled_optimizers=["x"], anything=1)
    assert loaded.get_providers() == CPU
    loaded.disable_fallback()
    loaded.enable_fallback()


@both
@pytest.mark.filterwarnings("ignore:Specified provider 'Bogus'")
def test_set_providers(ort: ModuleType) -> None:
    loaded = session(ort, adding())
    loaded.set_providers(CPU)
    loaded.set_providers(CPU, [{"a": "1"}])
    with pytest.warns(UserWarning, match="CUDAExecutionProvider"):
        loaded.set_providers(["CUDAExecutionProvider"])
    assert loaded.get_providers() == CPU
    assert loaded.run(None, {"left": ones(1, 2), "right": ones(1, 2)})[0].tolist() == [[2, 2]]
    with pytest.raises(RuntimeError, match="Unknown Provider Type: Bogus"):
        loaded.set_providers(["Bogus"])


@both
def test_globals(ort: ModuleType) -> None:
    assert ort.get_device() == "CPU"
    assert ort.get_available_providers()[-1] == "CPUExecutionProvider"
    providers = ort.get_all_providers()
    assert providers[-1] == "CPUExecutionProvider"
    assert {"CUDAExecutionProvider", "TensorrtExecutionProvider", "CoreMLExecutionProvider"} <= set(providers)
    assert ort.__version__ == ort.get_version_string()
    assert [int(part) for part in ort.__version__.split(".")] >= [1, 27, 0]
    assert isinstance(ort.get_build_info(), str)
    assert os.path.exists(ort.__file__)  # noqa: PTH110
    assert ort.__path__
    for call in (ort.disable_telemetry_events, ort.enable_telemetry_events, ort.preload_dlls):
        assert call() is None
    assert ort.preload_dlls(cuda=True, cudnn=True, msvc=True, directory="") is None
    ort.set_seed(3)
    ort.set_default_logger_verbosity(1)
    assert ort.has_collective_ops() is False
    for wrong in (5, -1):
        with pytest.raises(RuntimeError, match="Invalid logging severity"):
            ort.set_default_logger_severity(wrong)
    for wrong in ("3", None, 2.0):
        with pytest.raises(TypeError):
            ort.set_default_logger_severity(wrong)
    ort.set_default_logger_severity(4)


def test_only_the_cpu_is_available(ort: ModuleType) -> None:
    # Programs hand the whole list on, or take its first.
    assert ort.get_available_providers() == ["CPUExecutionProvider"]


def test_what_cannot_work_says_so_at_once(ort: ModuleType, tmp_path: Path) -> None:
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "out.onnx")
    with pytest.raises(jitney.Unsupported, match=r"out\.onnx"):
        session(ort, adding(), options)
    for call in (
        lambda: ort.SessionOptions().add_provider_for_devices([], {}),
        lambda: ort.SessionOptions().set_provider_selection_policy(ort.OrtExecutionProviderDevicePolicy.PREFER_NPU),
        lambda: ort.register_execution_provider_library("x", "lib.so"),
        lambda: ort.RunOptions().add_active_adapter(None),
        lambda: ort.SparseTensor(1),
        lambda: ort.LoraAdapter(),
        lambda: ort.ModelCompiler(ort.SessionOptions(), "x"),
    ):
        with pytest.raises(jitney.Error):
            call()


@both
def test_missing_custom_operators(ort: ModuleType) -> None:
    with pytest.raises(exceptions(ort).Fail, match=r"Failed to load library nolib\.so"):
        ort.SessionOptions().register_custom_ops_library("nolib.so")


def test_every_name_is_there(ort: ModuleType) -> None:
    for module, other in (
        (theirs, ort),
        (theirs.capi._pybind_state, ort.capi._pybind_state),
        (theirs.InferenceSession, ort.InferenceSession),
        (theirs.SessionOptions, ort.SessionOptions),
        (theirs.RunOptions, ort.RunOptions),
        (theirs.OrtValue, ort.OrtValue),
        (theirs.IOBinding, ort.IOBinding),
    ):
        names = [name for name in dir(module) if name[0] != "_" and not isinstance(getattr(module, name), ModuleType)]
        missing = [name for name in names if not hasattr(other, name)]
        assert [name for name in missing if name not in NOT_OFFERED] == []


NOT_OFFERED = {
    # Parts of provider plug-ins, of ONNX Runtime's own tools and tests, of training.
    "ArenaExtendStrategy",
    "DeviceReset",
    "OrtCompiledModelCompatibility",
    "OrtDeviceEpIncompatibilityReason",
    "SessionObjectInitializer",
    "SparseBlockSparseView",
    "SparseCooView",
    "SparseCsrView",
    "get_all_operator_schema",
    "get_all_opkernel_def",
    "get_compatibility_info_from_model",
    "get_compatibility_info_from_model_bytes",
    "get_default_session_options",
    "get_hardware_device_ep_incompatibility_details",
    "get_hardware_devices",
    "get_model_compatibility_for_ep_devices",
    "get_registered_ep_kernel_defs",
    "get_session_initializer",
    "import_capi_exception",
    "kNextPowerOfTwo",
    "kSameAsRequested",
    "opkernel",
    "pack_fp4_weights_for_cuda_moe_gemm",
    "quantize_matmul_2bits",
    "quantize_matmul_4bits",
    "quantize_matmul_8bits",
    "quantize_matmul_bnb4",
    "quantize_qdq_matmul_2bits",
    "quantize_qdq_matmul_4bits",
    "schemadef",
    "get_input_epdevices",
    "get_input_memory_infos",
    "get_output_memory_infos",
    "get_provider_graph_assignment_info",
    "release_captured_graph",
    "run_with_ortvaluevector",
    "clear_ep_context_data_read_func",
    "set_ep_context_data_read_func",
    "set_load_cancellation_flag",
}
