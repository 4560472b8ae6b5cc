// Convolution in float32: the step around the ways that there are to compute one (conv_way.h).
#pragma once

#include <span>

#include "cpu/op_table.h"

namespace jitney::cpu {

std::span<const FastOp> conv_steps() noexcept;

}  // namespace jitney::cpu
