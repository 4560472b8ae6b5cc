// What an op is: its arity, its attributes' schema, its one shape rule and its plain reference kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "jitney/error.h"
#include "jitney/tensor.h"

namespace jitney {

enum class AttributeType : std::uint8_t { integer, number, text, integers, numbers, texts, constant, graph };

struct AttributeSpec {
  std::string_view name;
  AttributeType type;
  bool required = false;
  /// For text attributes: the allowed words separated by '|'; empty allows any.
  std::string_view words = {};
};

struct Arity {
  std::uint32_t least;
  std::uint32_t most;  // kAnyNumber for variadic operands
};
inline constexpr std::uint32_t kAnyNumber = 0xffffffff;

/// What is known about a value before it is computed.
struct Facts {
  DType dtype = DType::undefined;
  SymShape shape;
  /// Elements of a small integer or bool tensor, row-major, as far as they are known: each an expression or unknown.
  std::optional<std::vector<Dim>> elements;
  /// The whole tensor, where its bytes are known (constants; small values at plan time).
  std::optional<TensorView> data;
};

/// The world as a shape rule sees it. The same rule serves symbolic inference (converter, `info`) and planning (no symbols).
class InferContext {
 public:
  using SubgraphInference = std::function<std::vector<Facts>(std::uint32_t graph, std::span<const Facts> inputs)>;

  /// `inputs[i]` is null where an optional operand was left out. `blame` is the code that fail() throws.
  InferContext(const Node& node, std::span<const Facts* const> inputs, std::span<Facts> outputs, ErrorCode blame,
               const SubgraphInference& subgraphs);

  const Node& node() const noexcept { return node_; }
  std::size_t input_count() const noexcept { return inputs_.size(); }
  std::size_t output_count() const noexcept { return outputs_.size(); }
  bool has(std::size_t input) const noexcept { return input < inputs_.size() && inputs_[input] != nullptr; }
  const Facts& facts(std::size_t input) const { return *inputs_[input]; }
  DType dtype(std::size_t input) const { return inputs_[input]->dtype; }
  const SymShape& shape(std::size_t input) const { return inputs_[input]->shape; }
  /// Elements of an integer or bool operand; nullopt if nothing is known of them.
  std::optional<std::vector<Dim>> elements(std::size_t input) const;
  /// Elements as plain integers; nullopt unless every one is known.
  std::optional<std::vector<std::int64_t>> integers(std::size_t input) const;
  /// Elements of any numeric operand as doubles; nullopt unless its bytes are known.
  std::optional<std::vector<double>> numbers(std::size_t input) const;

  void set(std::size_t output, DType dtype, SymShape shape);
  void set_elements(std::size_t output, std::vector<Dim> elements);
  std::vector<Facts> infer_subgraph(std::uint32_t graph, std::span<const Facts> inputs) const;

  /// The axis in [0, rank); negative ones count from the end; fails outside [-rank, rank).
  std::size_t axis(std::int64_t axis, std::size_t rank) const;
  /// Fails unless the operand has one of these dtypes.
  void expect_dtype(std::size_t input, std::initializer_list<DType> allowed) const;
  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const;

 private:
  const Node& node_;
  std::span<const Facts* const> inputs_;
  std::span<Facts> outputs_;
  ErrorCode blame_;
  const SubgraphInference& subgraphs_;
};

/// One node's operands in memory. Strides are arbitrary for inputs and outputs alike.
class ComputeContext {
 public:
  using Allocate = std::function<TensorView(std::size_t output, DType dtype, const Shape& shape)>;

  ComputeContext(const Node& node, std::span<const TensorView> inputs, std::span<TensorView> outputs, const Allocate& allocate);

  const Node& node() const noexcept { return node_; }
  std::size_t input_count() const noexcept { return inputs_.size(); }
  std::size_t output_count() const noexcept { return outputs_.size(); }
  bool has(std::size_t input) const noexcept { return input < inputs_.size() && inputs_[input].dtype != DType::undefined; }
  /// An optional output that nobody reads has dtype `undefined`.
  bool wants(std::size_t output) const noexcept { return output < outputs_.size() && outputs_[output].dtype != DType::undefined; }
  const TensorView& input(std::size_t i) const noexcept { return inputs_[i]; }
  const TensorView& output(std::size_t i) const noexcept { return outputs_[i]; }
  /// For data-dependent ops only: memory for an output whose shape is known now.
  TensorView allocate(std::size_t output, DType dtype, const Shape& shape) const { return allocate_(output, dtype, shape); }

 private:
  const Node& node_;
  std::span<const TensorView> inputs_;
  std::span<TensorView> outputs_;
  const Allocate& allocate_;
};

/// A rectangular copy: for every index i below sizes, output[dst_offset + i·dst_strides] = input[src_offset + i·src_strides].
/// Offsets and strides are in elements; sizes may have any rank up to kMaxRank.
struct Region {
  std::size_t input = 0;
  Shape sizes;
  std::int64_t src_offset = 0;
  Shape src_strides;
  std::int64_t dst_offset = 0;
  Shape dst_strides;
};

/// Regions of a data-movement op for concrete shapes and strides. Values of operands that the op needs (axes, starts …)
/// are in `inputs[i].data`; the moved operands' data may be null. nullopt: the moved input must first be made dense row-major.
using RegionsRule = std::optional<std::vector<Region>> (*)(const Node& node, std::span<const TensorView> inputs,
                                                           std::span<const TensorView> outputs, std::size_t output);

/// More elements than any shape, axes or sizes have: beyond, rules follow no elements, and no operand is read for its values.
inline constexpr std::int64_t kMostElements = 1024;

struct OpDef {
  std::string_view name;
  Arity inputs;
  Arity outputs;
  std::span<const AttributeSpec> attributes;
  /// Sets dtype and shape of every output, as exactly as the inputs' facts allow.
  void (*infer)(InferContext&);
  /// Null for control flow (the executor's business).
  void (*compute)(const ComputeContext&);
  /// Null unless the op only moves data.
  RegionsRule regions = nullptr;
  /// Bit i: the *values* of input i decide an output's shape, an axis or a branch.
  std::uint32_t value_inputs = 0;
  /// Output sizes are known only after computing (NonZero, NMS …).
  bool data_dependent = false;
  /// Same inputs, same outputs (false for random ops); only then may it be folded or shared.
  bool pure = true;
};

/// The op of that name, or null.
const OpDef* find_op(std::string_view name) noexcept;
/// All ops, sorted by name.
std::span<const OpDef* const> all_ops();
/// Checks arity and attributes against the op's schema; throws Error(invalid_model or unsupported) naming the node.
const OpDef& check_node(const Node& node);

}  // namespace jitney
