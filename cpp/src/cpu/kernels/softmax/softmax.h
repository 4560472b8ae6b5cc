// Softmax and its logarithm over contiguous rows in float32.
#pragma once

#include <cstddef>
#include <span>

#include "base/cpu_features.h"

namespace jitney::kernels {

struct SoftmaxKernel {
  const char* name;
  Isa isa;
  /// y = exp(x − max) / Σ exp(x − max); y may be x. NaN among x makes all NaN.
  void (*row)(std::size_t n, const float* x, float* y);
  /// y = x − max − log Σ exp(x − max); y may be x.
  void (*log_row)(std::size_t n, const float* x, float* y);
};

/// All sets that this architecture has, weakest first.
std::span<const SoftmaxKernel* const> softmax_kernels() noexcept;
const SoftmaxKernel& softmax_kernel(Isa active) noexcept;

}  // namespace jitney::kernels
