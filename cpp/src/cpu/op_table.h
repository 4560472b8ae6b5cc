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

/// The entry for an op, or null.
const FastOp* find_fast_op(std::string_view op) noexcept;

}  // namespace jitney::cpu
