// Interpolation in float32: a weighted sum of pixels, vectorised over channels.
#pragma once

#include <cstddef>

namespace jitney::kernels {

/// y[c] = Σ weight[t] · tap[t][c], in the order of the taps.
void f32_weighted_sum(std::size_t taps, const float* const* tap, const float* weight, std::size_t channels, float* y) noexcept;

}  // namespace jitney::kernels
