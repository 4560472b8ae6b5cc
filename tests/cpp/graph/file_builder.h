// Writes any ModelGraph as the bytes of a .jny file (docs/format.md), and helps tests to make small ones.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/crc32.h"
#include "graph/graph.h"
#include "jitney/tensor.h"

namespace jitney::testing {

/// Little-endian bytes at the end of a growing file.
class ByteWriter {
 public:
  template <typename T>
  void integer(T value) {
    const auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes.push_back(static_cast<std::byte>(bits >> (8 * i)));
  }
  void number(double value) { integer(std::bit_cast<std::uint64_t>(value)); }
  void text(const std::string& value) {
    integer(static_cast<std::uint32_t>(value.size()));
    raw(std::as_bytes(std::span(value)));
  }
  template <typename T, typename Item>
  void list(const T& items, Item item) {
    integer(static_cast<std::uint32_t>(items.size()));
    for (const auto& each : items) item(each);
  }
  void raw(std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); }
  void align() { bytes.resize((bytes.size() + 63) / 64 * 64); }

  std::vector<std::byte> bytes;
};

/// Puts little-endian `value` over the bytes at `offset`.
template <typename T>
void patch(std::span<std::byte> file, std::size_t offset, T value) {
  ByteWriter writer;
  writer.integer(value);
  std::copy(writer.bytes.begin(), writer.bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(offset));
}

inline void write_dim(ByteWriter& out, const Dim& dim) {
  if (dim.is_unknown()) return out.integer(std::uint8_t{2});
  out.integer(static_cast<std::uint8_t>(dim.is_symbolic() ? 1 : 0));
  out.integer(dim.constant());
  if (dim.is_constant()) return;
  out.list(dim.terms(), [&](const Dim::Term& term) {
    out.integer(term.symbol);
    out.integer(term.coefficient);
  });
}

inline void write_value(ByteWriter& out, const Value& value) {
  out.text(value.name);
  out.integer(static_cast<std::uint8_t>(value.dtype));
  out.integer(
      static_cast<std::uint8_t>((value.shape.ranked ? 1 : 0) | (value.constant >= 0 ? 2 : 0) | (value.quantisation ? 4 : 0)));
  if (value.shape.ranked) out.list(value.shape.dims, [&](const Dim& dim) { write_dim(out, dim); });
  if (value.constant >= 0) out.integer(value.constant);
  if (value.quantisation) {
    out.integer(value.quantisation->scale);
    out.integer(value.quantisation->zero_point);
    out.integer(value.quantisation->axis);
  }
}

inline void write_attribute(ByteWriter& out, const NamedAttribute& attribute) {
  out.text(attribute.name);
  out.integer(static_cast<std::uint8_t>(attribute.value.index() + 1));
  struct Payload {
    ByteWriter& out;
    void operator()(std::int64_t value) const { out.integer(value); }
    void operator()(double value) const { out.number(value); }
    void operator()(const std::string& value) const { out.text(value); }
    void operator()(const std::vector<std::int64_t>& values) const {
      out.list(values, [this](std::int64_t value) { out.integer(value); });
    }
    void operator()(const std::vector<double>& values) const {
      out.list(values, [this](double value) { out.number(value); });
    }
    void operator()(const std::vector<std::string>& values) const {
      out.list(values, [this](const std::string& value) { out.text(value); });
    }
    void operator()(ConstantRef value) const { out.integer(value.index); }
    void operator()(GraphRef value) const { out.integer(value.index); }
  };
  std::visit(Payload{out}, attribute.value);
}

inline void write_graph(ByteWriter& out, const Graph& graph) {
  const auto id = [&](ValueId value) { out.integer(value); };
  out.text(graph.name);
  out.list(graph.values, [&](const Value& value) { write_value(out, value); });
  out.list(graph.inputs, id);
  out.list(graph.outputs, id);
  out.list(graph.states, [&](const std::pair<ValueId, ValueId>& state) {
    out.integer(state.first);
    out.integer(state.second);
  });
  out.list(graph.nodes, [&](const Node& node) {
    out.text(node.op);
    out.text(node.name);
    out.list(node.inputs, id);
    out.list(node.outputs, id);
    out.list(node.attributes, [&](const NamedAttribute& attribute) { write_attribute(out, attribute); });
  });
}

inline std::vector<std::byte> write_graph_section(const ModelGraph& model) {
  ByteWriter out;
  out.list(model.symbols, [&](const std::string& symbol) { out.text(symbol); });
  std::uint64_t offset = 0;
  out.list(model.constants, [&](const Constant& constant) {
    out.integer(constant.dtype);
    out.integer(std::uint8_t{0});
    out.integer(std::uint16_t{0});
    out.list(constant.shape.span(), [&](std::int64_t size) { out.integer(size); });
    out.integer(offset);
    out.integer(constant.bytes);
    out.integer(crc32({constant.data, static_cast<std::size_t>(constant.bytes)}));
    offset += (constant.bytes + 63) / 64 * 64;
  });
  out.list(model.graphs, [&](const Graph& graph) { write_graph(out, graph); });
  return out.bytes;
}

struct Section {
  std::uint32_t kind;
  std::uint32_t checksum;
  std::vector<std::byte> bytes;
};

/// A file of these sections, in this order.
inline std::vector<std::byte> write_container(const std::vector<Section>& sections) {
  ByteWriter table, body;
  body.bytes.resize(64 + 32 * sections.size());
  for (const Section& section : sections) {
    body.align();
    table.integer(section.kind);
    table.integer(section.checksum);
    table.integer(std::uint64_t{body.bytes.size()});
    table.integer(std::uint64_t{section.bytes.size()});
    table.integer(std::uint64_t{0});
    body.raw(section.bytes);
  }
  std::vector<std::byte> file = std::move(body.bytes);
  static constexpr unsigned char kMagic[] = {0x89, 'J', 'N', 'Y', '\r', '\n', 0x1a, '\n'};
  std::memcpy(file.data(), kMagic, sizeof kMagic);
  patch(file, 8, std::uint32_t{1});
  patch(file, 12, std::uint32_t{1});
  patch(file, 16, static_cast<std::uint32_t>(sections.size()));
  patch(file, 24, std::uint64_t{file.size()});
  patch(file, 32, crc32(table.bytes));
  if (!table.bytes.empty()) std::memcpy(file.data() + 64, table.bytes.data(), table.bytes.size());
  return file;
}

/// The same model always gives the same bytes. Checks nothing, so that tests can write what no converter would.
inline std::vector<std::byte> write_model(const ModelGraph& model) {
  ByteWriter metadata, weights;
  metadata.list(model.metadata, [&](const auto& entry) {
    metadata.text(entry.first);
    metadata.text(entry.second);
  });
  for (const Constant& constant : model.constants) {
    weights.align();
    weights.raw({constant.data, static_cast<std::size_t>(constant.bytes)});
  }
  const std::vector<std::byte> graph = write_graph_section(model);
  std::vector<Section> sections = {{1, crc32(graph), graph}, {2, crc32(metadata.bytes), metadata.bytes}};
  if (!model.constants.empty()) sections.push_back({3, 0, weights.bytes});
  return write_container(sections);
}

/// Makes the main graph of a model step by step and owns the bytes of its constants.
class ModelBuilder {
 public:
  ModelBuilder() { model.graphs.resize(1); }

  Symbol symbol(const std::string& name) {
    model.symbols.push_back(name);
    return static_cast<Symbol>(model.symbols.size() - 1);
  }
  ValueId value(const std::string& name, DType dtype = DType::undefined, SymShape shape = SymShape::unranked()) {
    graph().values.push_back({name, dtype, std::move(shape), -1, std::nullopt});
    return static_cast<ValueId>(graph().values.size() - 1);
  }
  ValueId input(const std::string& name, DType dtype, std::vector<Dim> dims) {
    graph().inputs.push_back(value(name, dtype, SymShape::of(std::move(dims))));
    return graph().inputs.back();
  }
  /// Index into ModelGraph::constants.
  std::uint32_t block(const Tensor& tensor) {
    const Tensor& kept = tensors_.emplace_back(tensor);
    Constant constant{kept.dtype(), kept.shape(), static_cast<const std::byte*>(kept.data()), kept.bytes(), 0};
    constant.checksum = crc32({constant.data, kept.bytes()});
    model.constants.push_back(constant);
    return static_cast<std::uint32_t>(model.constants.size() - 1);
  }
  ValueId constant(const std::string& name, const Tensor& tensor) {
    const std::uint32_t index = block(tensor);
    const ValueId id = value(name, tensor.dtype(), SymShape::of({tensor.shape().begin(), tensor.shape().end()}));
    graph().values[static_cast<std::size_t>(id)].constant = static_cast<std::int32_t>(index);
    return id;
  }
  template <typename T>
  ValueId constant(const std::string& name, DType dtype, const Shape& shape, const std::vector<T>& elements) {
    Tensor tensor(dtype, shape);
    std::copy(elements.begin(), elements.end(), tensor.span<T>().begin());
    return constant(name, tensor);
  }
  /// A node with one output, which bears the node's name.
  ValueId node(const std::string& op, std::vector<ValueId> inputs, std::vector<NamedAttribute> attributes = {},
               const std::string& name = {}) {
    const std::string own = name.empty() ? op + "_" + std::to_string(graph().nodes.size()) : name;
    const ValueId result = value(own);
    graph().nodes.push_back({op, own, std::move(inputs), {result}, std::move(attributes)});
    return result;
  }
  void output(ValueId id) { graph().outputs.push_back(id); }
  Graph& graph() { return model.graphs.front(); }

  ModelGraph model;

 private:
  std::deque<Tensor> tensors_;
};

}  // namespace jitney::testing
