// Binds jitney::Model: a converted file, its inputs, outputs and metadata.
#include "jitney/model.h"

#include <pybind11/stl.h>

#include "bindings.h"
#include "runtime/model_data.h"
#include "without_gil.h"

namespace jitney::bindings {
namespace {

/// (name, dtype number, shape with symbols as text, or None for any rank)
py::list describe(const std::vector<TensorInfo>& tensors) {
  py::list result;
  for (const TensorInfo& tensor : tensors) {
    py::object shape = py::none();
    if (tensor.ranked) shape = py::cast(tensor.shape);
    result.append(py::make_tuple(tensor.name, static_cast<int>(tensor.dtype), shape));
  }
  return result;
}

/// How often each op occurs, subgraphs included.
std::map<std::string, std::size_t> count_ops(const Model& model) {
  std::map<std::string, std::size_t> counts;
  for (const Graph& graph : model.data()->graph.graphs) {
    for (const Node& node : graph.nodes) ++counts[node.op];
  }
  return counts;
}

/// (input, output) pairs by name.
std::vector<std::pair<std::string, std::string>> states(const Model& model) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const StateInfo& state : model.states()) pairs.emplace_back(state.input, state.output);
  return pairs;
}

Model from_bytes(const py::bytes& data) {
  const std::string_view text = data;
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  const WithoutGil released;
  return Model::from_bytes(bytes);
}

}  // namespace

void bind_model(py::module_& module) {
  py::class_<Model>(module, "Model")
      .def_static("open", &Model::open, py::arg("path"), py::call_guard<WithoutGil>())
      .def_static("from_bytes", &from_bytes, py::arg("data"))
      .def_property_readonly("inputs", [](const Model& model) { return describe(model.inputs()); })
      .def_property_readonly("outputs", [](const Model& model) { return describe(model.outputs()); })
      .def_property_readonly("states", &states)
      .def_property_readonly("metadata", [](const Model& model) { return model.metadata(); })
      .def_property_readonly("ops", &count_ops)
      .def("check_weights", &Model::check_weights, py::call_guard<WithoutGil>());
}

}  // namespace jitney::bindings
