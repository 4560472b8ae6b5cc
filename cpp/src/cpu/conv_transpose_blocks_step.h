// Transposed convolution in float32 whose windows do not overlap: one matrix product, whose results are put where they belong.
#pragma once

#include <memory>

#include "ops/window.h"
#include "plan/backend.h"

namespace jitney::cpu {

/// Whether each input pixel becomes a block of outputs of its own, in one group: strides as large as the kernel, no padding.
bool writes_blocks(const NodeRequest& node, const WindowGeometry& window);

/// For a node that takes the transposed-convolution step and writes blocks.
std::unique_ptr<Step> prepare_conv_transpose_blocks(const NodeRequest& node, const WindowGeometry& window, PackCache& cache,
                                                    std::size_t threads);

}  // namespace jitney::cpu
