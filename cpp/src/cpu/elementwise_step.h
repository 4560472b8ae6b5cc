// Elementwise float32 arithmetic with broadcasting.
#pragma once

#include <span>

#include "cpu/op_table.h"

namespace jitney::cpu {

std::span<const FastOp> elementwise_steps() noexcept;

}  // namespace jitney::cpu
