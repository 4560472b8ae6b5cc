// What the binding's files share: registration functions, and the way arrays cross between NumPy and the runtime.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <map>
#include <string>

#include "jitney/tensor.h"

namespace jitney::bindings {

namespace py = pybind11;

void bind_errors(py::module_& module);
void bind_model(py::module_& module);
void bind_session(py::module_& module);
void bind_inference(py::module_& module);

/// A NumPy array seen as a tensor. `array` keeps the memory alive (a copy of the user's array where that cannot be read in
/// place).
struct BorrowedArray {
  py::array array;
  TensorView view;
};

/// The user's array, which may be read-only and have any strides. Throws Error(invalid_input) naming `name` for a dtype that
/// no tensor can have, and for foreign byte order.
BorrowedArray borrow(const std::string& name, const py::handle& object);
/// Borrows an ndarray (no subclass) of this dtype, one of NumPy's own, that can be read in place. False: it is not such an array.
/// Runs no Python code.
bool borrow_plain(const py::handle& object, DType wanted, BorrowedArray& result);
/// Like borrow, for an array that a result is written to: it must be writeable and readable in place.
BorrowedArray borrow_for_writing(const std::string& name, const py::handle& object);
/// An array that owns the tensor's memory.
py::array to_array(Tensor tensor);

/// NumPy's name of a dtype, ml_dtypes' where NumPy lacks the type.
std::string dtype_name(int number);
py::tuple to_tuple(const Shape& shape);
std::map<std::string, Shape> to_shapes(const py::dict& shapes);

}  // namespace jitney::bindings
