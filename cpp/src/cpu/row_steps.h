// Ops that work on contiguous rows of float32: softmax, log_softmax, layer_norm; and instance_norm over channels-last pixels.
#pragma once

#include <span>

#include "cpu/op_table.h"

namespace jitney::cpu {

std::span<const FastOp> row_steps() noexcept;

}  // namespace jitney::cpu
