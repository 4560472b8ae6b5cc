// Convolution of images of few channels in float32, straight from the image as it lies: planar, interleaved, floats or bytes.
#pragma once

#include <memory>

#include "cpu/op_table.h"

namespace jitney::cpu {

/// Whether a plain float32 convolution (see is_plain_conv) is best computed so. Decided by its shape per item and its strides.
bool first_conv_takes(const NodeRequest& conv);

/// The group is such a convolution, or what fused_first_conv() took.
NodeLayout first_conv_layout(Group group);
std::unique_ptr<Step> first_conv_prepare(Group group, PackCache& cache, std::size_t threads);

/// cast (from uint8) → add or sub (a constant per channel) → conv, the first or the second of them being optional.
FusedOp fused_first_conv() noexcept;

}  // namespace jitney::cpu
