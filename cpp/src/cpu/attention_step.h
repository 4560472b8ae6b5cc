// Attention in float32: a task computes some rows of one head, and nobody stores all scores.
#pragma once

#include <span>

#include "cpu/op_table.h"

namespace jitney::cpu {

std::span<const FastOp> attention_steps() noexcept;

}  // namespace jitney::cpu
