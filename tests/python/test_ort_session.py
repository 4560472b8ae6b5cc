"""jitney.ort's sessions: loading, what they tell, feeding, results. Run on ONNX Runtime too."""

from __future__ import annotations

import copy
import pickle
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from ort_contract import INT64, adding, both, exceptions, model, one_op, ones, session, value_info


@pytest.fixture
def path(tmp_path: Path) -> Path:
    onnx.save(adding(), tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


@both
def test_loads_str_path_and_bytes(ort: ModuleType, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    for source in (str(path), path, "model.onnx", path.read_bytes()):
        loaded = ort.InferenceSession(path_or_bytes=source)
        assert loaded.run(None, {"left": ones(3, 2), "right": ones(3, 2)})[0].tolist() == [[2, 2]] * 3
    assert ort.InferenceSession(str(path))._model_path == str(path)
    assert ort.InferenceSession(path)._model_path == str(path)
    assert ort.InferenceSession(path.read_bytes())._model_path is None


@both
@pytest.mark.parametrize("kind", [bytearray, memoryview, lambda data: None, len, lambda data: adding(), lambda data: ""])
def test_refuses_other_sources(ort: ModuleType, path: Path, kind: Any) -> None:
    with pytest.raises(TypeError):
        ort.InferenceSession(kind(path.read_bytes()))


@both
def test_weights_beside_the_model(ort: ModuleType, tmp_path: Path) -> None:
    node = helper.make_node("Add", ["x", "w"], ["y"])
    proto = model([node], [value_info("x", ["N", 64])], [value_info("y", ["N", 64])], {"w": ones(64)})
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    loaded = ort.InferenceSession(tmp_path / "m.onnx")
    assert loaded.run(None, {"x": ones(1, 64)})[0].tolist() == [[2.0] * 64]
    (tmp_path / "w.bin").write_bytes((ones(64) * 5).tobytes())
    assert ort.InferenceSession(tmp_path / "m.onnx").run(None, {"x": ones(1, 64)})[0].tolist() == [[6.0] * 64]
    with pytest.raises(exceptions(ort).Fail):
        ort.InferenceSession((tmp_path / "m.onnx").read_bytes())
    (tmp_path / "w.bin").unlink()
    with pytest.raises(exceptions(ort).Fail):
        ort.InferenceSession(tmp_path / "m.onnx")


@both
def test_names_shapes_and_types(ort: ModuleType) -> None:
    loaded = session(ort, adding(["N", 2], ["past + N", 2]))
    inputs = loaded.get_inputs()
    assert [(arg.name, arg.shape, arg.type) for arg in inputs] == [
        ("left", ["N", 2], "tensor(float)"),
        ("right", ["past + N", 2], "tensor(float)"),
    ]
    assert [arg.name for arg in loaded.get_outputs()] == ["total", "result"]
    assert loaded.get_inputs() is inputs
    assert inputs[0].shape is not inputs[0].shape
    assert str(inputs[0]) == "NodeArg(name='left', type='tensor(float)', shape=['N', 2])"
    with pytest.raises(AttributeError):
        inputs[0].name = "other"


@both
@pytest.mark.parametrize(
    ("dims", "told"),
    [
        (["N", None, -1, 0, "", " b "], ["N", None, None, 0, None, " b "]),
        (None, []),
        ([], []),
        ([1], [1]),
        (["sequence_length - 1"], ["sequence_length - 1"]),
    ],
)
def test_dims_as_the_author_spelled_them(ort: ModuleType, dims: Any, told: Any) -> None:
    loaded = session(ort, one_op("Relu", dims))
    assert loaded.get_inputs()[0].shape == told
    assert loaded.get_outputs()[0].shape == told


@both
@pytest.mark.parametrize(
    ("declared", "told"), [(["Q", "P"], ["Q", 2]), ([5, 7], [None, None]), (["N", 7], ["N", None]), (None, ["N", 2])]
)
def test_output_dims(ort: ModuleType, declared: Any, told: Any) -> None:
    proto = model([helper.make_node("Relu", ["x"], ["y"])], [value_info("x", ["N", 2])], [value_info("y", declared)])
    loaded = session(ort, proto)
    assert loaded.get_outputs()[0].shape == told
    assert loaded.run(None, {"x": ones(3, 2)})[0].shape == (3, 2)


TYPES = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "bool": np.bool_,
}


@both
@pytest.mark.parametrize("name", TYPES)
def test_types_are_spelled_and_not_cast(ort: ModuleType, name: str) -> None:
    number = helper.np_dtype_to_tensor_dtype(np.dtype(TYPES[name]))
    loaded = session(ort, one_op("Identity", ["N"], number))
    assert loaded.get_inputs()[0].type == loaded.get_outputs()[0].type == f"tensor({name})"
    for other, dtype in TYPES.items():
        array = np.ones(3, dtype)
        if other == name:
            result = loaded.run(None, {"x": array})[0]
            assert result.dtype == dtype
            assert not np.shares_memory(result, array)
        else:
            words = rf"Unexpected input data type. Actual: \(tensor\({other}\)\) , expected: \(tensor\({name}\)\)"
            with pytest.raises(exceptions(ort).InvalidArgument, match=words):
                loaded.run(None, {"x": array})


@both
@pytest.mark.parametrize("array", [np.ones(2, np.complex64), np.zeros(2, "M8[s]")])
def test_types_that_onnx_lacks(ort: ModuleType, array: np.ndarray) -> None:
    with pytest.raises(RuntimeError, match="can't be converted to MLDataType"):
        session(ort, one_op("Relu", ["N"])).run(None, {"x": array})


@both
@pytest.mark.parametrize("array", [np.array(["a"]), np.array(["a"], object), np.array([b"a"])])
def test_strings_for_a_number(ort: ModuleType, array: np.ndarray) -> None:
    with pytest.raises(exceptions(ort).InvalidArgument, match=r"tensor\(string\)"):
        session(ort, one_op("Relu", ["N"])).run(None, {"x": array})


@both
def test_bfloat16_is_told_but_not_handed_out(ort: ModuleType) -> None:
    loaded = session(ort, one_op("Cast", ["N"], result=TensorProto.BFLOAT16, to=TensorProto.BFLOAT16))
    assert loaded.get_outputs()[0].type == "tensor(bfloat16)"
    with pytest.raises(RuntimeError, match="bfloat16"):
        loaded.run(None, {"x": ones(2)})


@both
def test_one_type_of_eight_bits_is_told_as_bytes(ort: ModuleType) -> None:
    proto = one_op("Cast", ["N"], result=TensorProto.FLOAT8E4M3FN, to=TensorProto.FLOAT8E4M3FN)
    proto.opset_import[0].version = 19
    result = session(ort, proto).run(None, {"x": ones(2)})[0]
    assert (result.dtype, result.tolist()) == (np.uint8, [56, 56])


@both
@pytest.mark.parametrize(
    "names",
    [None, [], ("total", "result"), {"total": 1, "result": 2}.keys(), np.array(["total", "result"])],
    ids=lambda names: type(names).__name__,
)
def test_ways_to_name_outputs(ort: ModuleType, names: Any) -> None:
    if isinstance(names, np.ndarray) and ort.__name__ == "onnxruntime":
        names = names[:1]  # it asks for the truth of the array, which longer ones do not have
    results = session(ort, adding()).run(names, {"left": ones(1, 2), "right": -2 * ones(1, 2)})
    assert type(results) is list
    assert [result.tolist() for result in results] == [[[-1, -1]], [[0, 0]]][: len(results)]
    assert len(results) == (2 if names is None or len(names) == 0 else len(names))


@both
def test_one_output_and_repeated_outputs(ort: ModuleType) -> None:
    loaded = session(ort, adding())
    feed = {"left": ones(1, 2), "right": ones(1, 2)}
    assert len(loaded.run(["result"], feed)) == 1
    first, second = loaded.run(["total", "total"], feed)
    assert first.tolist() == second.tolist() == [[2, 2]]
    if ort.__name__ != "onnxruntime":
        assert not np.shares_memory(first, second)
    assert len(loaded.run((name for name in ["total"]), feed)) == 1
    assert len(loaded.run(output_names=["total"], input_feed=feed, run_options=None)) == 1
    for wrong in ("total", 5, [1]):
        with pytest.raises(TypeError):
            loaded.run(wrong, feed)
    with pytest.raises(exceptions(ort).InvalidArgument, match="Invalid output name:sum"):
        loaded.run(["sum"], feed)


@both
def test_results_belong_to_the_caller(ort: ModuleType) -> None:
    loaded = session(ort, one_op("Identity", None))
    for array in (ones(2, 3), ones(0, 4), np.array(5, np.float32)):
        result = loaded.run(None, {"x": array})[0]
        assert type(result) is np.ndarray
        assert result.shape == array.shape
        assert result.flags.c_contiguous
        assert result.flags.writeable
        assert not np.shares_memory(result, array)


@both
def test_arrays_of_any_layout(ort: ModuleType) -> None:
    loaded = session(ort, one_op("Relu", ["N", "M"]))
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    frozen = base.copy()
    frozen.flags.writeable = False
    masked = np.ma.array(base, mask=base > 3)
    for array in (base[::2, ::3], base[::-1], base.T, np.asfortranarray(base), frozen, base[:0], masked, base.view(np.recarray)):
        assert np.array_equal(loaded.run(None, {"x": array})[0], np.asarray(array))


def test_foreign_byte_order(ort: ModuleType) -> None:
    # ONNX Runtime 1.32 takes the bytes as they are, and computes with other numbers.
    loaded = session(ort, one_op("Relu", ["N"]))
    assert loaded.run(None, {"x": np.array([1, 2], ">f4")})[0].tolist() == [1, 2]


@both
@pytest.mark.parametrize(
    ("number", "given", "result"),
    [
        (TensorProto.FLOAT, [1.5, 2, True], [1.5, 2, 1]),
        (INT64, [1.7, -2.5, 300], [1, -2, 300]),
        (TensorProto.INT32, [True, np.int64(4)], [1, 4]),
        (TensorProto.BOOL, [0, 2.5], [False, True]),
        (TensorProto.FLOAT, [], []),
    ],
)
def test_lists_become_the_input_type(ort: ModuleType, number: int, given: Any, result: Any) -> None:
    assert session(ort, one_op("Identity", ["N"], number)).run(None, {"x": given})[0].tolist() == result


@both
def test_nested_lists(ort: ModuleType) -> None:
    loaded = session(ort, one_op("Identity", ["N", "M"], INT64))
    for nested in ([[1, 2], [3, 4]], [(1, 2), (3, 4)], [np.array([1, 2]), np.array([3, 4])]):
        assert loaded.run(None, {"x": nested})[0].tolist() == [[1, 2], [3, 4]]


@both
@pytest.mark.parametrize("given", [[[1, 2], [3]], [["a", 2]], [[None, 1]]])
def test_lists_that_are_no_tensor(ort: ModuleType, given: Any) -> None:
    with pytest.raises(RuntimeError, match="Could not create tensor from given input list"):
        session(ort, one_op("Identity", ["N", "M"], INT64)).run(None, {"x": given})


class _ArrayLike:
    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        return ones(1)


@both
@pytest.mark.parametrize("given", [1.0, 3, np.float32(1), (1.0, 2.0), b"1", "1", _ArrayLike()])
def test_what_is_no_array(ort: ModuleType, given: Any) -> None:
    with pytest.raises(RuntimeError, match=r"Input must be a list|Unable to handle object of type"):
        session(ort, one_op("Relu", ["N"])).run(None, {"x": given})


@both
def test_missing_and_unknown_inputs(ort: ModuleType) -> None:
    loaded = session(ort, adding())
    words = r"Required inputs \(\['right'\]\) are missing from input feed \(\['left'\]\)."
    with pytest.raises(ValueError, match=words):
        loaded.run(None, {"left": ones(1, 2)})
    with pytest.raises(exceptions(ort).InvalidArgument, match="Invalid input name: other"):
        loaded.run(None, {"left": ones(1, 2), "right": ones(1, 2), "other": ones(1)})
    with pytest.raises(AttributeError, match="keys"):
        loaded.run(None, [ones(1, 2), ones(1, 2)])


@both
def test_ranks_and_sizes(ort: ModuleType) -> None:
    loaded = session(ort, one_op("Relu", ["N", 2, 0]))
    with pytest.raises(exceptions(ort).InvalidArgument, match="Invalid rank for input: x Got: 1 Expected: 3"):
        loaded.run(None, {"x": ones(2)})
    words = r"Got invalid dimensions for input: x for the following indices\n index: 1 Got: 3 Expected: 2\n index: 2 Got: 1"
    with pytest.raises(exceptions(ort).InvalidArgument, match=words):
        loaded.run(None, {"x": ones(1, 3, 1)})
    assert loaded.run(None, {"x": ones(4, 2, 0)})[0].shape == (4, 2, 0)


@both
def test_symbols_need_not_agree(ort: ModuleType) -> None:
    loaded = session(ort, adding())
    assert loaded.run(None, {"left": ones(2, 2), "right": ones(1, 2)})[0].shape == (2, 2)
    assert loaded.run(None, {"left": ones(2, 2), "right": ones(2, 2)})[0].shape == (2, 2)
    square = session(ort, one_op("Relu", ["N", "N"]))
    assert square.run(None, {"x": ones(2, 3)})[0].shape == (2, 3)


@both
def test_scalars(ort: ModuleType) -> None:
    loaded = session(ort, one_op("Relu", []))
    for array in (np.array(3, np.float32), ones(1), ones(1, 1), ones(3)):
        assert loaded.run(None, {"x": array})[0].shape == array.shape
    assert loaded.run(None, {"x": [3]})[0].tolist() == [3]
    with pytest.raises(exceptions(ort).InvalidArgument, match="Invalid rank"):
        session(ort, one_op("Relu", [1])).run(None, {"x": np.array(3, np.float32)})


@both
def test_inputs_that_nothing_reads(ort: ModuleType) -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    inputs = [value_info("x", ["N"]), value_info("unused", ["K"], INT64), value_info("text", ["K"], TensorProto.STRING)]
    loaded = session(ort, model([node], inputs, [value_info("y", ["N"])]))
    assert [arg.name for arg in loaded.get_inputs()] == ["x", "unused", "text"]
    feed = {"x": ones(2), "unused": None, "text": np.array(["a"])}
    assert loaded.run(None, feed)[0].tolist() == [1, 1]
    with pytest.raises(ValueError, match="unused"):
        loaded.run(None, {"x": ones(2), "text": np.array(["a"])})
    with pytest.raises(exceptions(ort).InvalidArgument, match="data type"):
        loaded.run(None, feed | {"unused": ones(1)})
    with pytest.raises(exceptions(ort).InvalidArgument, match="rank"):
        loaded.run(None, feed | {"unused": np.zeros((1, 1), np.int64)})
    with pytest.raises(exceptions(ort).Fail):
        loaded.run(None, feed | {"x": None})


@both
@pytest.mark.parametrize("ir_version", [3, 8])
def test_initializers_that_are_inputs(ort: ModuleType, ir_version: int) -> None:
    node = helper.make_node("Add", ["x", "w"], ["y"])
    inputs = [value_info("x", ["N", 2]), value_info("w", ["K"])]
    loaded = session(ort, model([node], inputs, [value_info("y", ["N", 2])], {"w": ones(2)}, ir_version))
    assert [arg.name for arg in loaded.get_inputs()] == ["x"]
    assert loaded.run(None, {"x": ones(1, 2)})[0].tolist() == [[2, 2]]
    if ir_version < 4:
        assert loaded.get_overridable_initializers() == []
        with pytest.raises(exceptions(ort).InvalidArgument, match="Invalid input name: w"):
            loaded.run(None, {"x": ones(1, 2), "w": ones(2)})
        return
    assert [(arg.name, arg.shape) for arg in loaded.get_overridable_initializers()] == [("w", ["K"])]
    for given, result in ((5 * ones(2), [[6, 6]]), (7 * ones(1), [[8, 8]])):
        assert loaded.run(None, {"x": ones(1, 2), "w": given})[0].tolist() == result
    assert loaded.run(None, {"x": ones(1, 2)})[0].tolist() == [[2, 2]]
    with pytest.raises(exceptions(ort).InvalidArgument, match="data type"):
        loaded.run(None, {"x": ones(1, 2), "w": np.ones(2)})


@both
def test_an_input_and_a_constant_as_outputs(ort: ModuleType) -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    outputs = [value_info(name, None) for name in ("y", "x", "c")]
    loaded = session(ort, model([node], [value_info("x", ["N"])], outputs, {"c": ones(3)}))
    x = ones(2)
    y, same, c = loaded.run(None, {"x": x})
    assert (y.tolist(), same.tolist(), c.tolist()) == ([1, 1], [1, 1], [1, 1, 1])
    c[:] = 5
    same[:] = 5
    assert x.tolist() == [1, 1]
    assert loaded.run(["c"], {"x": x})[0].tolist() == [1, 1, 1]


@both
def test_sequences(ort: ModuleType) -> None:
    nodes = [
        helper.make_node("SplitToSequence", ["x", "sizes"], ["parts"], axis=0),
        helper.make_node("Relu", ["x"], ["y"]),
    ]
    parts = helper.make_tensor_sequence_value_info("parts", TensorProto.FLOAT, None)
    proto = model(nodes, [value_info("x", [5, 2])], [parts, value_info("y", None)], {"sizes": np.array([2, 3])})
    loaded = session(ort, proto)
    told = loaded.get_outputs()[0]
    assert (told.name, told.type, told.shape) == ("parts", "seq(tensor(float))", [])
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    results, y = loaded.run(None, {"x": x})
    assert type(results) is list
    assert [part.tolist() for part in results] == [x[:2].tolist(), x[2:].tolist()]
    assert y.shape == (5, 2)
    assert [part.shape for part in loaded.run(["parts"], {"x": x})[0]] == [(2, 2), (3, 2)]
    value = loaded.run_with_ort_values(["parts"], {"x": ort.OrtValue.ortvalue_from_numpy(x)})[0]
    assert value.is_tensor_sequence()
    assert value.data_type() == "seq(tensor(float))"


@both
def test_a_model_without_inputs(ort: ModuleType) -> None:
    loaded = session(ort, model([helper.make_node("Relu", ["c"], ["y"])], [], [value_info("y", [2])], {"c": ones(2)}))
    assert loaded.get_inputs() == []
    assert loaded.run(None, {})[0].tolist() == [1, 1]


@both
def test_metadata(ort: ModuleType) -> None:
    proto = adding()
    helper.set_model_props(proto, {"character": "a\nb\nü", "stride": "32", "empty": ""})
    proto.producer_name, proto.domain, proto.doc_string, proto.model_version = "maker", "org", "what it does", 7
    proto.graph.doc_string = "the graph"
    meta = session(ort, proto).get_modelmeta()
    assert meta.custom_metadata_map == {"character": "a\nb\nü", "stride": "32", "empty": ""}
    meta.custom_metadata_map["more"] = "x"
    assert "more" not in meta.custom_metadata_map
    assert (meta.producer_name, meta.domain, meta.description, meta.version) == ("maker", "org", "what it does", 7)
    assert (meta.graph_name, meta.graph_description) == ("graph", "the graph")
    plain = session(ort, adding()).get_modelmeta()
    assert (plain.custom_metadata_map, plain.producer_name, plain.version) == ({}, "", 2**63 - 1)


@both
def test_subclasses_that_pickle_by_path(ort: ModuleType, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Reloading(ort.InferenceSession):
        def __init__(self, model_path: str, **options: Any) -> None:
            super().__init__(model_path, **options)
            self.model_path = model_path

        def __getstate__(self) -> dict[str, str]:
            return {"model_path": self.model_path}

        def __setstate__(self, state: dict[str, str]) -> None:
            self.__init__(state["model_path"], providers=["CPUExecutionProvider"])

    monkeypatch.setitem(globals(), "Reloading", Reloading)
    Reloading.__qualname__ = "Reloading"
    again = pickle.loads(pickle.dumps(Reloading(str(path))))
    assert isinstance(again, ort.InferenceSession)
    assert again.run(["total"], {"left": ones(1, 2), "right": ones(1, 2)})[0].tolist() == [[2, 2]]


@both
def test_plain_sessions_do_not_pickle(ort: ModuleType, path: Path) -> None:
    loaded = ort.InferenceSession(path)
    with pytest.raises(TypeError):
        pickle.dumps(loaded)
    with pytest.raises(TypeError):
        copy.deepcopy(loaded)
    assert weakref.ref(loaded)() is loaded
    loaded.note = "kept"
    loaded._sess = None
    with pytest.raises(AttributeError):
        loaded.run(None, {"left": ones(1, 2), "right": ones(1, 2)})


@both
def test_many_threads_on_one_session(ort: ModuleType) -> None:
    loaded = session(ort, adding())

    def run(number: int) -> bool:
        rows = number % 5 + 1
        result = loaded.run(["total"], {"left": number * ones(rows, 2), "right": ones(1 if number % 3 else rows, 2)})[0]
        return bool((result == number + 1).all()) and result.shape == (rows, 2)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(200)))


@both
def test_run_async(ort: ModuleType) -> None:
    loaded = session(ort, adding())
    done = threading.Event()
    seen: list[Any] = []

    def callback(results: Any, user_data: Any, error: str) -> None:
        seen.append((results, user_data, error))
        done.set()

    loaded.run_async(["total"], {"left": ones(1, 2), "right": ones(1, 2)}, callback, "mine")
    assert done.wait(30)
    results, user_data, error = seen.pop()
    assert (results[0].tolist(), user_data, error) == ([[2, 2]], "mine", "")
    done.clear()
    loaded.run_async(None, {"left": ones(1, 2), "right": ones(3)}, callback, None)
    assert done.wait(30)
    assert seen[0][0] == []
    assert "Invalid rank for input: right" in seen[0][2]
    with pytest.raises(ValueError, match="Required inputs"):
        loaded.run_async(None, {"left": ones(1, 2)}, callback, None)


def test_loads_converted_models(ort: ModuleType, linear: Path) -> None:
    for source in (linear, linear.read_bytes()):
        loaded = ort.InferenceSession(source)
        assert [(arg.name, arg.type, arg.shape) for arg in loaded.get_inputs()] == [("x", "tensor(float)", ["N", 4])]
        assert loaded.get_modelmeta().custom_metadata_map == {"author": "test"}
        assert loaded.run(["y"], {"x": ones(2, 4)})[0].shape == (2, 3)


def test_the_report_names_settings_without_effect(ort: ModuleType) -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_mem_pattern = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    report = session(ort, adding(), options).backend_report
    assert report.threads == 1
    assert "without effect: enable_mem_pattern=False, session.intra_op.allow_spinning=0" in report.reason
