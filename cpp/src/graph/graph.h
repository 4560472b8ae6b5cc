// The typed SSA graph that a .jny file holds. Graphs are plain data: they know no op's meaning and no backend.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/dim.h"
#include "jitney/tensor.h"

namespace jitney {

/// Index into Graph::values; kNoValue stands for an optional operand that was left out.
using ValueId = std::int32_t;
inline constexpr ValueId kNoValue = -1;

/// A block of the weights section, borrowed from the mapped file.
struct Constant {
  DType dtype = DType::undefined;
  Shape shape;
  const std::byte* data = nullptr;  // dense row-major, 64-byte aligned
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;  // CRC-32 of the bytes
};

/// q = round(x / scale) + zero_point; scale and zero point are constants, per tensor (axis −1) or along an axis.
struct Quantisation {
  std::int32_t scale = -1;       // index into ModelGraph::constants
  std::int32_t zero_point = -1;  // likewise; −1 means zero
  std::int32_t axis = -1;
};

struct Value {
  std::string name;
  DType dtype = DType::undefined;
  SymShape shape;
  std::int32_t constant = -1;  // index into ModelGraph::constants; −1 if computed or fed
  std::optional<Quantisation> quantisation;
};

/// Attribute payloads. A graph or a constant is named by its index in the ModelGraph.
struct GraphRef {
  std::uint32_t index;
};
struct ConstantRef {
  std::uint32_t index;
};
using Attribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                               std::vector<std::string>, ConstantRef, GraphRef>;

struct NamedAttribute {
  std::string name;
  Attribute value;
};

/// An op applied to values. Attributes were checked against the op's schema when the model was loaded, so the getters
/// below throw Error(internal) only for a fault in Jitney.
struct Node {
  std::string op;
  std::string name;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<NamedAttribute> attributes;

  const Attribute* find(std::string_view attribute) const noexcept;
  std::int64_t integer(std::string_view attribute) const;
  std::int64_t integer(std::string_view attribute, std::int64_t fallback) const;
  double number(std::string_view attribute) const;
  double number(std::string_view attribute, double fallback) const;
  const std::string& text(std::string_view attribute) const;
  std::string_view text(std::string_view attribute, std::string_view fallback) const;
  /// Empty if the attribute is absent.
  const std::vector<std::int64_t>& integers(std::string_view attribute) const;
  const std::vector<double>& numbers(std::string_view attribute) const;
  std::uint32_t graph(std::string_view attribute) const;
  std::optional<std::uint32_t> constant(std::string_view attribute) const;
};

/// Nodes are in topological order and every value has exactly one definition: a graph input, a constant or a node.
/// A subgraph is closed: what it captures from outside arrives as an input (see docs/ir.md on `if`).
struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  /// (input, output) pairs: the output of one run is the input of the next.
  std::vector<std::pair<ValueId, ValueId>> states;
};

/// All that a file holds: graph 0 is the model; the others are its subgraphs, each referenced by one node.
struct ModelGraph {
  std::vector<std::string> symbols;
  std::vector<Constant> constants;
  std::vector<Graph> graphs;
  std::map<std::string, std::string> metadata;

  const Graph& main() const { return graphs.front(); }
};

}  // namespace jitney
