// Normalisation in float32: to mean 0 and variance 1, then scaled and shifted.
#pragma once

#include <cstddef>
#include <span>

#include "base/cpu_features.h"

namespace jitney::kernels {

/// Columns per call at most.
inline constexpr std::size_t kNormColumns = 64;

struct Moments {
  float mean;
  float inv_std;  // 1 / √(variance + ε)
};

struct NormKernel {
  const char* name;
  Isa isa;
  /// Of a contiguous row: the mean first, then the squares of what deviates from it.
  Moments (*row_moments)(std::size_t n, const float* x, double epsilon);
  /// y = (x − mean) · inv_std · scale + bias, element by element; scale or bias may be null. y may be x.
  void (*normalise_row)(std::size_t n, const float* x, Moments moments, const float* scale, const float* bias, float* y);
  /// Of up to kNormColumns columns over rows.
  void (*column_moments)(std::size_t rows, std::ptrdiff_t row_stride, std::size_t columns, const float* x, double epsilon,
                         float* mean, float* inv_std);
  /// y[r][c] = (x[r][c] − mean[c]) · factor[c] + bias[c]. y may be x.
  void (*normalise_columns)(std::size_t rows, std::ptrdiff_t x_stride, std::ptrdiff_t y_stride, std::size_t columns,
                            const float* x, const float* mean, const float* factor, const float* bias, float* y);
};

/// All sets that this architecture has, weakest first.
std::span<const NormKernel* const> norm_kernels() noexcept;
const NormKernel& norm_kernel(Isa active) noexcept;

}  // namespace jitney::kernels
