// Finds the model inputs whose values, not only shapes, decide a plan.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/program.h"

namespace jitney {

/// Inputs with more elements than this are not part of a plan key; what depends on them is planned after a cut.
inline constexpr std::int64_t kMostKeyElements = 1024;

/// Whether values of this dtype can decide a shape, an axis, k or a branch.
bool may_decide(DType dtype) noexcept;

/// Indices of the integer and bool inputs of a graph (the model, or a loop's body) from which a shape, an axis, k or a branch is
/// computed through nodes that can be evaluated at plan time. Sorted. Bodies of loops inside have key inputs of their own. The
/// first `changing` inputs differ between the iterations of a loop: branches that they decide are left to run time, where one
/// plan for each branch will do, whatever decides it.
std::vector<std::size_t> find_key_inputs(const ModelGraph& graph, const std::vector<std::vector<const OpDef*>>& ops,
                                         std::uint32_t index = 0, std::size_t changing = 0);

}  // namespace jitney
