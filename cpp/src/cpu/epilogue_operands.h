// From a node's epilogue (bias, residual, slope, activation) to that of the kernels.
#pragma once

#include "cpu/kernels/epilogue.h"
#include "plan/backend.h"

namespace jitney::cpu {

/// Whether the kernels can take the node's epilogue: all operands float32, bias and slope of `channels` numbers (slope: or one).
bool epilogue_fits(const NodeRequest& node, std::int64_t channels);

/// Demands dense bias and slope; leaves the residual to the caller.
void epilogue_layout(const NodeRequest& node, NodeLayout& layout);

/// All but the addresses. `residual_stride`: between rows (pixels) of the residual.
kernels::Epilogue make_epilogue(const NodeRequest& node, std::int64_t residual_stride, double scale = 1.0);

/// The same with the addresses of a run.
kernels::Epilogue bind_epilogue(const kernels::Epilogue& epilogue, const NodeRequest& node, const StepRun& run);

}  // namespace jitney::cpu
