// Reductions of float32 over any axes.
#pragma once

#include <span>

#include "cpu/op_table.h"

namespace jitney::cpu {

std::span<const FastOp> reduce_steps() noexcept;

}  // namespace jitney::cpu
