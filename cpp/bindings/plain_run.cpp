// Matches the arguments of a run with what the model wants.
#include "plain_run.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

namespace jitney::bindings {
namespace {

bool fits(const TensorInfo& info, const Shape& shape) {
  if (!info.ranked) return true;
  if (shape.size() != info.shape.size()) return false;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto* fixed = std::get_if<std::int64_t>(&info.shape[axis]);
    if (fixed != nullptr && *fixed != shape[axis]) return false;
  }
  return true;
}

py::str interned(const std::string& name) {
  PyObject* text = py::str(name).release().ptr();
  PyUnicode_InternInPlace(&text);
  return py::reinterpret_steal<py::str>(text);
}

}  // namespace

PlainArguments::PlainArguments(const Model& model) : model_(model) {
  for (const TensorInfo& info : model_.inputs()) {
    const bool state = std::ranges::any_of(model_.states(), [&](const StateInfo& each) { return each.input == info.name; });
    inputs_.push_back({interned(info.name), &info, state});
    needed_ += state ? 0 : 1;
  }
  for (const TensorInfo& info : model_.outputs()) {
    const bool state = std::ranges::any_of(model_.states(), [&](const StateInfo& each) { return each.output == info.name; });
    outputs_.push_back({interned(info.name), &info, state});
  }
}

bool PlainArguments::match_input(const Input& input, const py::handle& value, PlainRun& run) const {
  BorrowedArray& array = run.arrays.emplace_back();
  if (!borrow_plain(value, input.info->dtype, array) || !fits(*input.info, array.view.shape)) return false;
  run.inputs.push_back({input.info->name, array.view});
  return true;
}

bool PlainArguments::match_output(const py::handle& name, PlainRun& run) const {
  if (!PyUnicode_CheckExact(name.ptr())) return false;
  const auto found = std::ranges::find_if(outputs_, [&](const Output& output) {
    return output.key.ptr() == name.ptr() || PyUnicode_Compare(output.key.ptr(), name.ptr()) == 0;
  });
  if (found == outputs_.end()) return false;
  const bool repeated = std::ranges::any_of(run.names, [&](const py::str& other) { return other.ptr() == found->key.ptr(); });
  run.names.push_back(found->key);
  run.outputs.push_back({found->info->name, {}});
  return !repeated;
}

std::optional<PlainRun> PlainArguments::match(const py::handle& inputs, const py::handle& outputs) const {
  PlainRun run;
  run.arrays.reserve(inputs_.size());
  run.inputs.reserve(inputs_.size());
  if (PyDict_CheckExact(inputs.ptr())) {
    for (const Input& input : inputs_) {
      PyObject* value = PyDict_GetItemWithError(inputs.ptr(), input.key.ptr());
      if (value == nullptr && PyErr_Occurred() != nullptr) throw py::error_already_set();
      if (value == nullptr && input.state) continue;
      if (value == nullptr || !match_input(input, value, run)) return std::nullopt;
    }
    if (run.inputs.size() != static_cast<std::size_t>(PyDict_GET_SIZE(inputs.ptr()))) return std::nullopt;
  } else {
    if (needed_ != 1) return std::nullopt;
    const auto only = std::ranges::find(inputs_, false, &Input::state);
    if (!match_input(*only, inputs, run)) return std::nullopt;
  }

  run.outputs.reserve(outputs_.size());
  run.names.reserve(outputs_.size());
  if (outputs.is_none()) {
    for (const Output& output : outputs_) {
      if (output.state) continue;
      run.names.push_back(output.key);
      run.outputs.push_back({output.info->name, {}});
    }
    return run;
  }
  if (!PyList_CheckExact(outputs.ptr())) return std::nullopt;
  for (const py::handle name : py::reinterpret_borrow<py::list>(outputs))
    if (!match_output(name, run)) return std::nullopt;
  return run;
}

}  // namespace jitney::bindings
