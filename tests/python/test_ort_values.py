"""jitney.ort's OrtValue, OrtDevice and IOBinding. Run on ONNX Runtime too."""

from __future__ import annotations

import copy
import pickle
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from ort_contract import adding, both, exceptions, one_op, ones, session


@both
def test_values_share_memory(ort: ModuleType) -> None:
    array = ones(2, 3)
    value = ort.OrtValue.ortvalue_from_numpy(array)
    array[0, 0] = 7
    assert value.numpy()[0, 0] == 7
    value.numpy()[0, 1] = 9
    assert array[0, 1] == 9
    assert value.data_ptr() == array.ctypes.data
    assert (value.shape(), value.data_type(), value.element_type(), value.device_name()) == ([2, 3], "tensor(float)", 1, "cpu")
    assert (value.has_value(), value.is_tensor(), value.is_sparse_tensor(), value.is_tensor_sequence()) == (
        True,
        True,
        False,
        False,
    )
    assert value.tensor_size_in_bytes() == 24
    assert value._ortvalue.numpy() is not None
    assert value._get_c_value().shape() == [2, 3]
    scattered = ort.OrtValue.ortvalue_from_numpy(ones(4, 4)[:, ::2])
    assert scattered.numpy().tolist() == [[1, 1]] * 4


@both
@pytest.mark.parametrize("wrong", [[1, 2], 5, None, np.float32(1), np.array(["a"]), np.array(["a"], object), np.ones(2, complex)])
def test_what_no_value_holds(ort: ModuleType, wrong: Any) -> None:
    with pytest.raises(RuntimeError):
        ort.OrtValue.ortvalue_from_numpy(wrong)


@both
def test_devices(ort: ModuleType) -> None:
    assert ort.OrtValue.ortvalue_from_numpy(ones(2), "cpu", 0).device_name() == "cpu"
    for device in ("cuda", "dml"):
        with pytest.raises(RuntimeError):
            ort.OrtValue.ortvalue_from_numpy(ones(2), device, 0)
        with pytest.raises(RuntimeError):
            ort.OrtValue.ortvalue_from_shape_and_type((2,), np.float32, device, 0)
    for device in ("nope", "CPU"):
        with pytest.raises(Exception, match=f"Unsupported device type: {device}"):
            ort.OrtValue.ortvalue_from_numpy(ones(2), device, 0)
    made = ort.OrtDevice.make("cpu", 0)
    assert (made.device_type(), made.device_id(), made.device_mem_type(), made.device_vendor_id()) == (0, 0, 0, 0)
    assert ort.OrtDevice.make("cuda", 1).device_type() == 1


@both
@pytest.mark.parametrize(
    ("shape", "kind", "told"),
    [
        ((2, 3), np.float32, "tensor(float)"),
        ([2], np.int64, "tensor(int64)"),
        ((), np.float16, "tensor(float16)"),
        ((0, 2), bool, "tensor(bool)"),
        ((2,), "float32", "tensor(float)"),
        ((2,), np.dtype("uint8"), "tensor(uint8)"),
        ((2,), TensorProto.DOUBLE, "tensor(double)"),
        ((2,), TensorProto.BFLOAT16, "tensor(bfloat16)"),
    ],
)
def test_values_from_shape_and_type(ort: ModuleType, shape: Any, kind: Any, told: str) -> None:
    value = ort.OrtValue.ortvalue_from_shape_and_type(shape, kind)
    assert (value.shape(), value.data_type()) == (list(shape), told)


@both
def test_values_from_wrong_shapes(ort: ModuleType) -> None:
    for shape, kind, error in ((2, np.float32, TypeError), ((-1,), np.float32, RuntimeError), ((2,), str, RuntimeError)):
        with pytest.raises(error):
            ort.OrtValue.ortvalue_from_shape_and_type(shape, kind)


@both
def test_update_in_place(ort: ModuleType) -> None:
    array = ones(2, 3)
    value = ort.OrtValue.ortvalue_from_numpy(array)
    value.update_inplace(4 * ones(3, 2))
    assert array.tolist() == [[4] * 3] * 2
    value.update_inplace(np.arange(6, dtype=np.float32).reshape(3, 2).T)
    assert array.tolist() == [[0, 2, 4], [1, 3, 5]]
    with pytest.raises(RuntimeError, match="does not match the size"):
        value.update_inplace(ones(3, 3))
    with pytest.raises(TypeError):
        value.update_inplace([[1, 2, 3], [4, 5, 6]])


@both
def test_values_as_arrays(ort: ModuleType) -> None:
    value = ort.OrtValue.ortvalue_from_numpy(ones(2))
    assert np.asarray(value).tolist() == [1, 1]
    assert np.asarray(value, dtype=np.float64).dtype == np.float64
    assert np.from_dlpack(value).tolist() == [1, 1]
    assert value.__dlpack_device__() == (1, 0)
    assert ort.OrtValue.from_dlpack(ones(3)).numpy().tolist() == [1, 1, 1]
    assert ort.OrtValue(value._ortvalue).numpy().tolist() == [1, 1]
    assert copy.copy(value).numpy().tolist() == [1, 1]
    with pytest.raises(TypeError):
        pickle.dumps(value)
    with pytest.raises(ValueError, match="needs to be of type"):
        ort.OrtValue(5)


@both
def test_values_as_feeds(ort: ModuleType) -> None:
    loaded = session(ort, adding())
    value = ort.OrtValue.ortvalue_from_numpy(ones(1, 2))
    assert loaded.run(["total"], {"left": value, "right": 4 * ones(1, 2)})[0].tolist() == [[5, 5]]
    results = loaded.run_with_ort_values(["total"], {"left": value, "right": value})
    assert isinstance(results[0], ort.OrtValue)
    assert results[0].numpy().tolist() == [[2, 2]]
    assert len(loaded.run_with_ort_values(None, {"left": value, "right": value})) == 2
    double = ort.OrtValue.ortvalue_from_numpy(np.ones((1, 2)))
    with pytest.raises(exceptions(ort).InvalidArgument, match="data type"):
        loaded.run(None, {"left": double, "right": value})
    with pytest.raises(ValueError, match="Required inputs"):
        loaded.run_with_ort_values(None, {"left": value})


@both
def test_bfloat16_between_sessions(ort: ModuleType) -> None:
    there = session(ort, one_op("Cast", ["N"], result=TensorProto.BFLOAT16, to=TensorProto.BFLOAT16))
    value = there.run_with_ort_values(None, {"x": ort.OrtValue.ortvalue_from_numpy(3 * ones(2))})[0]
    assert value.data_type() == "tensor(bfloat16)"
    with pytest.raises(RuntimeError, match="bfloat16"):
        value.numpy()
    back = session(ort, one_op("Cast", ["N"], TensorProto.BFLOAT16, TensorProto.FLOAT, to=TensorProto.FLOAT))
    assert back.run(None, {"x": value})[0].tolist() == [3, 3]


@both
def test_binding(ort: ModuleType) -> None:
    loaded = session(ort, adding())
    binding = loaded.io_binding()
    left, right = ones(3, 2), 2 * ones(3, 2)
    binding.bind_cpu_input("left", left)
    binding.bind_input("right", "cpu", 0, np.float32, [3, 2], right.ctypes.data)
    binding.bind_output("result")
    binding.bind_output("total", "cpu")
    binding.synchronize_inputs()
    loaded.run_with_iobinding(binding)
    binding.synchronize_outputs()
    first = binding.copy_outputs_to_cpu()
    assert [array.tolist() for array in first] == [[[3, 3]] * 3] * 2
    assert [(value.shape(), value.device_name()) for value in binding.get_outputs()] == [([3, 2], "cpu")] * 2
    left[:] = 100  # what is bound is read anew
    loaded.run_with_iobinding(binding, ort.RunOptions())
    assert binding.copy_outputs_to_cpu()[0].tolist() == [[102, 102]] * 3
    assert first[0].tolist() == [[3, 3]] * 3


@both
def test_one_binding_for_other_shapes(ort: ModuleType) -> None:
    loaded = session(ort, adding())
    binding = loaded.io_binding()
    for rows in (1, 4, 2):
        left = ones(rows, 2)
        binding.bind_input(
            name="left", device_type="cpu", device_id=0, element_type=np.float32, shape=(rows, 2), buffer_ptr=left.ctypes.data
        )
        binding.bind_cpu_input("right", ones(rows, 2))
        binding.bind_output("total")
        loaded.run_with_iobinding(binding)
        assert binding.copy_outputs_to_cpu()[0].shape == (rows, 2)


@both
def test_outputs_in_memory_of_the_caller(ort: ModuleType) -> None:
    loaded = session(ort, adding())
    binding = loaded.io_binding()
    target, left = np.zeros((3, 2), np.float32), ones(3, 2)
    binding.bind_cpu_input("left", left)
    binding.bind_cpu_input("right", left)
    binding.bind_output(
        name="total", device_type="cpu", device_id=0, element_type=np.float32, shape=(3, 2), buffer_ptr=target.ctypes.data
    )
    value = ort.OrtValue.ortvalue_from_shape_and_type((3, 2), np.float32)
    binding.bind_ortvalue_output("result", value)
    loaded.run_with_iobinding(binding)
    assert target.tolist() == [[2, 2]] * 3
    assert value.numpy().tolist() == [[2, 2]] * 3
    assert [each.data_ptr() for each in binding.get_outputs()] == [target.ctypes.data, value.data_ptr()]
    binding.clear_binding_outputs()
    assert binding.get_outputs() == []


@both
def test_values_as_bindings(ort: ModuleType) -> None:
    loaded = session(ort, adding())
    binding = loaded.io_binding()
    value = ort.OrtValue.ortvalue_from_numpy(ones(1, 2))
    binding.bind_ortvalue_input("left", value)
    binding.bind_ortvalue_input("right", value)
    binding.bind_output("total")
    loaded.run_with_iobinding(binding)
    assert binding.get_outputs()[0].numpy().tolist() == [[2, 2]]
    binding.clear_binding_inputs()
    with pytest.raises(RuntimeError):
        loaded.run_with_iobinding(binding)


def _filled(ort: ModuleType, loaded: Any, left: np.ndarray, right: np.ndarray) -> Any:
    binding = loaded.io_binding()
    binding.bind_cpu_input("left", left)
    binding.bind_cpu_input("right", right)
    return binding


@both
def test_errors_of_bindings_are_runtime_errors(ort: ModuleType) -> None:
    loaded = session(ort, adding())
    with pytest.raises(RuntimeError, match="Failed to find NodeArg with name: other"):
        loaded.io_binding().bind_cpu_input("other", ones(1, 2))
    with pytest.raises(RuntimeError):
        loaded.io_binding().bind_cpu_input("left", [[1, 2]])
    with pytest.raises(RuntimeError):
        loaded.io_binding().bind_input("left", "cuda", 0, np.float32, [1, 2], 8)
    with pytest.raises(RuntimeError, match="At least one output"):
        loaded.run_with_iobinding(_filled(ort, loaded, ones(1, 2), ones(1, 2)))
    for left, words in ((np.ones((1, 2)), "Unexpected input data type"), (ones(3), "Invalid rank for input: left")):
        binding = _filled(ort, loaded, left, ones(1, 2))
        binding.bind_output("total")
        with pytest.raises(RuntimeError, match=words):
            loaded.run_with_iobinding(binding)
    target = np.zeros((3, 2), np.int64)
    for kind, shape in ((np.int64, (3, 2)), (np.float32, (2, 2)), (np.float32, (2, 3))):
        binding = _filled(ort, loaded, ones(3, 2), ones(3, 2))
        binding.bind_output("total", "cpu", 0, kind, shape, target.ctypes.data)
        with pytest.raises(RuntimeError):
            loaded.run_with_iobinding(binding)
    assert not target.any()
