// Softmax and its logarithm over contiguous rows in float32.
#pragma once

#include <cstddef>

#include "base/cpu_features.h"
#include "cpu/kernels/elementwise/elementwise.h"

namespace jitney::kernels {

struct SoftmaxKernel {
  UnaryKernel exp;
};

SoftmaxKernel softmax_kernel(Isa active) noexcept;

/// y = exp(x − max) / Σ exp(x − max); y may be x. The same sums whatever the level, exp apart.
void f32_softmax_row(const SoftmaxKernel& kernel, std::size_t n, const float* x, float* y) noexcept;
/// y = x − max − log Σ exp(x − max); y may be x.
void f32_log_softmax_row(const SoftmaxKernel& kernel, std::size_t n, const float* x, float* y) noexcept;

}  // namespace jitney::kernels
