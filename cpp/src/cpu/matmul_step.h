// Matrix products in float32, B packed once if constant and in waves per run otherwise.
#pragma once

#include <span>

#include "cpu/op_table.h"

namespace jitney::cpu {

std::span<const FastOp> matmul_steps() noexcept;

}  // namespace jitney::cpu
