// instance_norm in float32, over single channels or groups of them, on images as they lie: planar or channels-last.
#pragma once

#include <span>

#include "cpu/op_table.h"

namespace jitney::cpu {

std::span<const FastOp> instance_norm_steps() noexcept;

}  // namespace jitney::cpu
