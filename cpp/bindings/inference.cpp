// Binds what the converter asks of the op library: which ops there are, their schemas, and symbolic shape inference.
#include <pybind11/stl.h>

#include <memory>
#include <string_view>

#include "base/mapped_file.h"
#include "bindings.h"
#include "graph/reader.h"
#include "jitney/error.h"
#include "ops/infer.h"
#include "ops/op.h"
#include "without_gil.h"

namespace jitney::bindings {
namespace {

const char* type_name(AttributeType type) {
  switch (type) {
    case AttributeType::integer:
      return "integer";
    case AttributeType::number:
      return "number";
    case AttributeType::text:
      return "text";
    case AttributeType::integers:
      return "integers";
    case AttributeType::numbers:
      return "numbers";
    case AttributeType::texts:
      return "texts";
    case AttributeType::constant:
      return "constant";
    case AttributeType::graph:
      return "graph";
  }
  throw Error(ErrorCode::internal, "an attribute type without a name");
}

/// None stands for any number of operands.
py::object limit(std::uint32_t most) { return most == kAnyNumber ? py::object(py::none()) : py::object(py::int_(most)); }

py::list names_of_ops() {
  py::list names;
  for (const OpDef* op : all_ops()) names.append(std::string(op->name));
  return names;
}

py::list split_words(std::string_view words) {
  py::list result;
  while (!words.empty()) {
    const std::size_t bar = words.find('|');
    result.append(std::string(words.substr(0, bar)));
    words = bar == std::string_view::npos ? std::string_view{} : words.substr(bar + 1);
  }
  return result;
}

py::dict op_schema(const std::string& name) {
  const OpDef* op = find_op(name);
  if (op == nullptr) throw Error(ErrorCode::unsupported, "there is no op '" + name + "'");
  py::dict attributes;
  for (const AttributeSpec& spec : op->attributes) {
    attributes[py::str(std::string(spec.name))] = py::make_tuple(type_name(spec.type), spec.required, split_words(spec.words));
  }
  py::dict schema;
  schema["inputs"] = py::make_tuple(op->inputs.least, limit(op->inputs.most));
  schema["outputs"] = py::make_tuple(op->outputs.least, limit(op->outputs.most));
  schema["attributes"] = attributes;
  schema["value_inputs"] = op->value_inputs;
  schema["data_dependent"] = op->data_dependent;
  schema["pure"] = op->pure;
  return schema;
}

/// int | (constant, [(symbol, coefficient)]) | None
py::object to_python(const Dim& dim, const std::vector<std::string>& symbols) {
  if (dim.is_unknown()) return py::none();
  if (dim.is_constant()) return py::int_(dim.value());
  py::list terms;
  for (const Dim::Term& term : dim.terms()) terms.append(py::make_tuple(symbols[term.symbol], term.coefficient));
  return py::make_tuple(dim.constant(), terms);
}

py::list to_python(const std::vector<Dim>& dims, const std::vector<std::string>& symbols) {
  py::list result;
  for (const Dim& dim : dims) result.append(to_python(dim, symbols));
  return result;
}

/// A subgraph's inputs as the file declares them; what its node feeds it is not looked at.
std::vector<Facts> declared_inputs(const Graph& graph) {
  std::vector<Facts> facts;
  for (const ValueId input : graph.inputs) {
    const Value& value = graph.values[static_cast<std::size_t>(input)];
    facts.push_back({value.dtype, value.shape, {}, {}});
  }
  return facts;
}

/// Nodes in the making: what is wrong with them is the ONNX model's fault, so that the advice for old files would mislead.
void check_nodes(const ModelGraph& model) {
  for (const Graph& graph : model.graphs) {
    for (const Node& node : graph.nodes) {
      try {
        check_node(node);
      } catch (const Error& error) {
        throw Error(error.code(), error.message()).at(error.node(), error.op());
      }
    }
  }
}

py::list infer(const py::bytes& data, bool may_never_run) {
  const std::string_view text = data;
  const auto file = MappedFile::copy(std::as_bytes(std::span(text.data(), text.size())));
  ModelGraph model;
  std::vector<std::vector<Facts>> graphs;
  {
    const WithoutGil released;
    model = read_model(*file);
    check_nodes(model);
    graphs.push_back(infer_model(model, may_never_run ? OnContradiction::forget : OnContradiction::fail));
    for (std::uint32_t index = 1; index < model.graphs.size(); ++index) {
      // Contradictions that matter were found with the main graph, which knows what may never run.
      graphs.push_back(infer_graph(model, index, declared_inputs(model.graphs[index]), OnContradiction::forget));
    }
  }
  py::list result;
  for (const auto& graph : graphs) {
    py::list values;
    for (const Facts& facts : graph) {
      py::object shape = py::none();
      py::object elements = py::none();
      if (facts.shape.ranked) shape = to_python(facts.shape.dims, model.symbols);
      if (facts.elements) elements = to_python(*facts.elements, model.symbols);
      values.append(py::make_tuple(static_cast<int>(facts.dtype), shape, elements));
    }
    result.append(values);
  }
  return result;
}

}  // namespace

void bind_inference(py::module_& module) {
  module.def("ops", &names_of_ops);
  module.def("op_schema", &op_schema, py::arg("op"));
  module.def("infer", &infer, py::arg("model"), py::arg("may_never_run") = false);
}

}  // namespace jitney::bindings
