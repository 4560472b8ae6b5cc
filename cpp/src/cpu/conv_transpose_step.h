// Transposed convolution in float32: matrix products whose columns are added where they belong.
#pragma once

#include <span>

#include "cpu/op_table.h"

namespace jitney::cpu {

std::span<const FastOp> conv_transpose_steps() noexcept;

}  // namespace jitney::cpu
