// A pointwise convolution and the depthwise one that it feeds, as one step.
#pragma once

#include "cpu/op_table.h"

namespace jitney::cpu {

FusedOp fused_conv_chain() noexcept;

}  // namespace jitney::cpu
