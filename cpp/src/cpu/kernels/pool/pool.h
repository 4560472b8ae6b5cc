// Pooling in float32 over channels-last input: one output pixel at a time, vectorised over channels.
#pragma once

#include <cstddef>
#include <span>

#include "base/cpu_features.h"

namespace jitney::kernels {

/// The taps of one output pixel that lie inside the image: `columns` neighbours from each of the row starts.
struct PoolWindow {
  const float* const* rows = nullptr;
  std::size_t row_count = 0;
  std::size_t columns = 0;
  std::ptrdiff_t column_step = 0;  // elements between neighbours
  std::size_t channels = 0;        // contiguous
};

struct PoolKernel {
  const char* name;
  Isa isa;
  /// NaN beats every number; −inf if the window is empty.
  void (*max)(const PoolWindow& window, float* y);
  /// Sum over the window divided by `count`. Rows are summed on their own, then added in ascending order.
  void (*average)(const PoolWindow& window, float count, float* y);
};

/// All that this architecture has, weakest first.
std::span<const PoolKernel* const> pool_kernels() noexcept;
/// The best one that may run at this level.
const PoolKernel& pool_kernel(Isa active) noexcept;

}  // namespace jitney::kernels
