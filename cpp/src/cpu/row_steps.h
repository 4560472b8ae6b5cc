// Ops that work on contiguous rows of float32: softmax, log_softmax, layer_norm and rms_norm.
#pragma once

#include <span>

#include "cpu/op_table.h"

namespace jitney::cpu {

std::span<const FastOp> row_steps() noexcept;

}  // namespace jitney::cpu
