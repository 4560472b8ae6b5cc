// Resize of the spatial axes, channels-last: nearest for every dtype, linear and cubic for float32.
#pragma once

#include <span>

#include "cpu/op_table.h"

namespace jitney::cpu {

std::span<const FastOp> resize_steps() noexcept;

}  // namespace jitney::cpu
