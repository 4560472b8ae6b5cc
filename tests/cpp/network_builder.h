// Builds small models in memory for tests, the way the converter would write them.
#pragma once

#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "graph/file_builder.h"
#include "graph/graph.h"
#include "jitney/model.h"

namespace jitney::testing {

/// A ModelGraph under construction; `graph` selects which graph nodes go to (0 is the model).
class NetworkBuilder {
 public:
  NetworkBuilder() { model.graphs.emplace_back(); }

  std::uint32_t add_graph() {
    model.graphs.emplace_back();
    return static_cast<std::uint32_t>(model.graphs.size() - 1);
  }

  Symbol symbol(const std::string& name) {
    for (std::size_t i = 0; i < model.symbols.size(); ++i)
      if (model.symbols[i] == name) return static_cast<Symbol>(i);
    model.symbols.push_back(name);
    return static_cast<Symbol>(model.symbols.size() - 1);
  }

  ValueId value(const std::string& name, DType dtype = DType::undefined, SymShape shape = SymShape::unranked()) {
    Value made;
    made.name = name;
    made.dtype = dtype;
    made.shape = std::move(shape);
    at().values.push_back(std::move(made));
    return static_cast<ValueId>(at().values.size() - 1);
  }

  /// Dims: a number, or −1 for a symbol of the input's own ("NAME_AXIS").
  ValueId input(const std::string& name, DType dtype, const std::vector<std::int64_t>& dims) {
    std::vector<Dim> shape;
    for (std::size_t i = 0; i < dims.size(); ++i)
      shape.push_back(dims[i] < 0 ? Dim::symbol(symbol(name + "_" + std::to_string(i))) : Dim(dims[i]));
    const ValueId id = value(name, dtype, SymShape::of(std::move(shape)));
    at().inputs.push_back(id);
    return id;
  }

  template <typename T>
  std::uint32_t block(DType dtype, const Shape& shape, const std::vector<T>& data) {
    auto& bytes = blocks_.emplace_back(data.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), data.data(), bytes.size());
    model.constants.push_back({dtype, shape, bytes.data(), bytes.size(), 0});
    return static_cast<std::uint32_t>(model.constants.size() - 1);
  }

  template <typename T>
  ValueId constant(DType dtype, const Shape& shape, const std::vector<T>& data) {
    const std::uint32_t index = block(dtype, shape, data);
    const ValueId id = value("constant_" + std::to_string(index), dtype, SymShape::of({shape.begin(), shape.end()}));
    at().values[static_cast<std::size_t>(id)].constant = static_cast<std::int32_t>(index);
    return id;
  }
  ValueId floats(const Shape& shape, const std::vector<float>& data) { return constant(DType::float32, shape, data); }
  ValueId ints(const std::vector<std::int64_t>& data) {
    return constant(DType::int64, {static_cast<std::int64_t>(data.size())}, data);
  }

  std::vector<ValueId> nodes(const std::string& op, std::vector<ValueId> inputs, std::size_t outputs,
                             std::vector<NamedAttribute> attributes = {}) {
    Node node;
    node.op = op;
    node.name = op + "_" + std::to_string(at().nodes.size());
    node.inputs = std::move(inputs);
    for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back(value(node.name + "_" + std::to_string(i)));
    node.attributes = std::move(attributes);
    at().nodes.push_back(node);
    return node.outputs;
  }
  ValueId node(const std::string& op, std::vector<ValueId> inputs, std::vector<NamedAttribute> attributes = {}) {
    return nodes(op, std::move(inputs), 1, std::move(attributes))[0];
  }
  void output(ValueId id, const std::string& name = {}) {
    if (!name.empty()) at().values[static_cast<std::size_t>(id)].name = name;
    at().outputs.push_back(id);
  }

  Model load() const { return Model::from_bytes(write_model(model)); }

  ModelGraph model;
  std::uint32_t graph = 0;

 private:
  Graph& at() { return model.graphs[graph]; }
  std::deque<std::vector<std::byte>> blocks_;
};

template <typename T>
Tensor tensor(DType dtype, const Shape& shape, const std::vector<T>& data) {
  Tensor made(dtype, shape);
  if (!data.empty()) std::memcpy(made.data(), data.data(), data.size() * sizeof(T));
  return made;
}

template <typename T>
std::vector<T> elements(const Tensor& tensor) {
  const auto span = tensor.span<T>();
  return {span.begin(), span.end()};
}

}  // namespace jitney::testing
