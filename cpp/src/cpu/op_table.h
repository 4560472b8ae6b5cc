// Which ops have fast steps, and the two functions that each of them consists of.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "plan/backend.h"

namespace jitney::cpu {

/// A fast implementation of one op. Both functions decide from the request alone, and alike, whether they take it; what
/// they leave (a rare dtype, an odd attribute) runs through the op's reference kernel.
struct FastOp {
  std::string_view op;
  std::optional<NodeLayout> (*layout)(const NodeRequest& node);
  std::unique_ptr<Step> (*prepare)(const NodeRequest& node, PackCache& cache, std::size_t threads);
};

/// Nodes that follow one another and run faster as one step. All functions decide from the request alone, and alike.
struct FusedOp {
  /// The most nodes that a group led by this one may have; 0 or 1 if it leads none. Cheap: asked for every node.
  std::size_t (*widest)(const NodeRequest& first);
  /// How many of these consecutive nodes it takes, at least 2, or 0. Their own results have shapes and Operand::reads, no
  /// strides.
  std::size_t (*claim)(Group nodes);
  NodeLayout (*layout)(Group group);
  std::unique_ptr<Step> (*prepare)(Group group, PackCache& cache, std::size_t threads);
};

/// The entry for an op, or null.
const FastOp* find_fast_op(std::string_view op) noexcept;
/// All fused steps; what stands first is asked first.
std::span<const FusedOp> fused_ops() noexcept;

}  // namespace jitney::cpu
