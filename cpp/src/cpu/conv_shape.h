// What conv and conv_transpose steps need to know of a request, brought to three spatial axes.
#pragma once

#include <optional>

#include "cpu/kernels/conv/conv.h"
#include "ops/window.h"
#include "plan/backend.h"

namespace jitney::cpu {

/// The numbers of the last axes, in front of them `fill`.
kernels::Spatial spatial3(const Shape& values, std::int64_t fill);

/// All sizes, no strides of memory.
kernels::ConvGeometry conv_sizes(const WindowGeometry& window, std::int64_t batch);

/// Geometry for the kernels; x must have pixel strides.
kernels::ConvGeometry conv_geometry(const WindowGeometry& window, const Operand& x);

/// float32, 1 to 3 spatial axes, and an epilogue that the kernels know.
bool is_plain_conv(const NodeRequest& node, std::int64_t filters);

/// Channels-last for all image operands, leaving those as they are whose channels lie together already.
NodeLayout conv_layout(const NodeRequest& node);

}  // namespace jitney::cpu
