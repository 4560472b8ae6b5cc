// Interpolation in float32: rows blended with each other, and one row stretched along itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu_features.h"

namespace jitney::kernels {

/// Where the elements of a stretched row come from: element i is Σ weight[i·taps + t] · row[offset[i·taps + t]].
struct StretchTable {
  std::size_t taps = 0, count = 0;
  const std::int32_t* offset = nullptr;
  const float* weight = nullptr;
};

struct ResizeKernel {
  const char* name;
  Isa isa;
  /// y[i] = Σ weight[r] · rows[r][i] for i < n, in ascending order of r.
  void (*blend)(std::size_t count, const float* const* rows, const float* weight, std::size_t n, float* y);
};

/// Taps in ascending order. One element at a time at every level: gathers are slower than loads on many processors.
void f32_stretch(const StretchTable& table, const float* row, float* y) noexcept;

/// All that this architecture has, weakest first.
std::span<const ResizeKernel* const> resize_kernels() noexcept;
/// The best one that may run at this level.
const ResizeKernel& resize_kernel(Isa active) noexcept;

}  // namespace jitney::kernels
