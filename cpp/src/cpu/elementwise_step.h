// Elementwise float32 arithmetic with broadcasting, alone or several nodes as one loop.
#pragma once

#include <span>

#include "cpu/op_table.h"

namespace jitney::cpu {

std::span<const FastOp> elementwise_steps() noexcept;

/// Several of these ops that follow one another, in float32 and of one shape, as one loop.
const FusedOp& fused_elementwise() noexcept;

}  // namespace jitney::cpu
