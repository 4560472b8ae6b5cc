// Elementwise ops whose operands or results are not all float32: where, cast, comparisons, logic, integer arithmetic.
#pragma once

#include <span>

#include "cpu/op_table.h"

namespace jitney::cpu {

/// Ops of the float32 kernels are not in the list: their entries fall back to prepare_typed().
std::span<const FastOp> typed_steps() noexcept;

/// A step for the common dtypes, or null.
std::unique_ptr<Step> prepare_typed(const NodeRequest& node);

}  // namespace jitney::cpu
