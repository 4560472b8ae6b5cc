// Padding with a constant: the border is filled, the inside copied.
#pragma once

#include <span>

#include "cpu/op_table.h"

namespace jitney::cpu {

std::span<const FastOp> pad_steps() noexcept;

}  // namespace jitney::cpu
