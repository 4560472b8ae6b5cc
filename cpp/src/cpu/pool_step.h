// Max and average pooling in float32, channels-last.
#pragma once

#include <span>

#include "cpu/op_table.h"

namespace jitney::cpu {

std::span<const FastOp> pool_steps() noexcept;

}  // namespace jitney::cpu
