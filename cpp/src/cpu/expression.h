// Consecutive elementwise nodes as one loop: a short program over blocks of elements, whose inner results never go to memory.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cpu/broadcast_walk.h"
#include "cpu/kernels/elementwise/elementwise.h"
#include "plan/backend.h"

namespace jitney::cpu {

/// Whether a node can be part of an expression, alone or with others: float32 arithmetic.
bool is_expression(const NodeRequest& node);

/// The most nodes from the first, all of which are expressions of one shape and hang together, that can be one.
std::size_t expression_nodes(Group nodes);

NodeLayout expression_layout(Group group);

class Expression {
 public:
  static constexpr std::size_t kMostInstructions = 8;

  /// All outer operands have their strides.
  explicit Expression(Group group);

  /// "f32_" and the ops.
  std::string name() const;
  void run(const StepRun& run) const;

 private:
  static constexpr std::int64_t kBlock = 512;
  static constexpr std::size_t kMostValues = BroadcastWalk::kOperands + kMostInstructions;
  static constexpr std::size_t kNone = ~std::size_t{0};

  /// Where the numbers of an operand, outer or inner, come from while a block is computed.
  enum class Access : std::uint8_t {
    direct,    // they lie side by side in memory
    single,    // one number for the whole row, which the kernel spreads
    periodic,  // the same for every run: spread into a buffer once per unit
    gathered,  // collected in a buffer for each block; of results: put from there into their places
    inner,     // computed by one instruction and read by others, in a buffer
  };
  struct Value {
    Access access = Access::inner;
    std::size_t operand = kNone;  // in the walk
    std::size_t buffer = kNone;
    std::size_t input = kNone;  // among the step's inputs
  };
  struct Instruction {
    kernels::UnaryKernel unary = nullptr;  // one of the two
    kernels::BinaryKernel binary = nullptr;
    std::size_t a = kNone, b = kNone, y = kNone;  // values
    float alpha = 0, beta = 0;
    std::size_t low = kNone, high = kNone;  // clip's bounds: outer inputs
    std::string_view op;
  };
  struct Bound;

  void compile(Group group);
  void choose_access();
  void choose_kernels(Group group);
  void share_buffers();
  void run_unit(const Bound& bound, const BroadcastWalk::Offsets& at, std::int64_t count) const;
  void fill(const Value& value, const float* from, std::int64_t start, std::int64_t count, float* buffer) const;
  void put(const Value& value, const float* buffer, float* to, std::int64_t start, std::int64_t count) const;

  std::vector<Operand> inputs_;  // outer, in the step's order
  std::vector<Value> values_;    // outer outputs, outer inputs (both as in the walk), inner results
  std::vector<Instruction> instructions_;
  std::size_t outputs_ = 0, buffers_ = 0;
  std::optional<BroadcastWalk> walk_;
  double nanoseconds_ = 0;  // per element
  bool whole_ = false;      // one instruction that reads and writes memory directly
};

}  // namespace jitney::cpu
