// Convolution in float32: pointwise as a matrix product, depthwise, and any other through pointers to its taps.
#pragma once

#include <span>

#include "cpu/op_table.h"

namespace jitney::cpu {

std::span<const FastOp> conv_steps() noexcept;

}  // namespace jitney::cpu
