// The step of recurrent networks.
#pragma once

#include <span>

#include "cpu/op_table.h"

namespace jitney::cpu {

std::span<const FastOp> rnn_steps() noexcept;

}  // namespace jitney::cpu
