// Turns jitney::Error into the Python classes of jitney.errors.
#include "jitney/error.h"

#include <exception>
#include <new>

#include "bindings.h"

namespace jitney::bindings {
namespace {

const char* class_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_model:
      return "InvalidModel";
    case ErrorCode::invalid_input:
      return "InvalidInput";
    case ErrorCode::unsupported:
      return "Unsupported";
    case ErrorCode::out_of_memory:
      return "OutOfMemory";
    case ErrorCode::io:
      return "IoError";
    case ErrorCode::closed:
      return "SessionClosed";
    case ErrorCode::internal:
      return "InternalError";
  }
  return "InternalError";
}

/// Names in a damaged file need not be UTF-8; a message must still come through.
py::str text(const std::string& bytes) {
  PyObject* decoded = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace");
  if (decoded == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(decoded);
}

void raise(const Error& error) {
  const py::object type = py::module_::import("jitney.errors").attr(class_name(error.code()));
  py::list inputs;
  for (const std::string& input : error.inputs()) inputs.append(text(input));
  const py::object instance =
      type(text(error.message()), py::arg("node") = text(error.node()), py::arg("op") = text(error.op()),
           py::arg("hint") = text(error.hint()), py::arg("opset") = text(error.opset()), py::arg("inputs") = py::tuple(inputs));
  PyErr_SetObject(type.ptr(), instance.ptr());
}

}  // namespace

void bind_errors(py::module_&) {
  py::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Error& error) {
      raise(error);
    } catch (const std::bad_alloc&) {
      raise(Error(ErrorCode::out_of_memory, "memory could not be allocated"));
    }
  });
}

}  // namespace jitney::bindings
