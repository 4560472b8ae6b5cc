// Normalisation in float32: to mean 0 and variance 1, then scaled and shifted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu_features.h"

namespace jitney::kernels {

/// Columns, and rows whose moments are asked for, per call at most.
inline constexpr std::size_t kNormColumns = 64;
inline constexpr std::size_t kNormRows = 8;

/// As many rows as should be taken together, so that sums of one are waited for during the next, and all stay in the first-level
/// cache until they are normalised.
constexpr std::int64_t rows_at_a_time(std::int64_t length) noexcept {
  return std::clamp<std::int64_t>(4096 / std::max<std::int64_t>(length, 1), 1, static_cast<std::int64_t>(kNormRows));
}

struct Moments {
  float mean;
  float inv_std;  // 1 / √(variance + ε)
};

struct NormKernel {
  const char* name;
  Isa isa;
  /// Of contiguous rows, one after the other: the mean first, then the squares of what deviates from it.
  void (*row_moments)(std::size_t rows, std::size_t n, const float* x, double epsilon, Moments* moments);
  /// The mean counts as 0: 1 / √(mean of squares + ε).
  void (*row_squares)(std::size_t rows, std::size_t n, const float* x, double epsilon, Moments* moments);
  /// y = (x − mean) · inv_std · scale + bias, element by element; scale or bias may be null. y may be x.
  void (*normalise_row)(std::size_t n, const float* x, Moments moments, const float* scale, const float* bias, float* y);
  /// y = (x − mean) · factor + bias with one number of each for the whole row. y may be x.
  void (*shift_row)(std::size_t n, const float* x, float mean, float factor, float bias, float* y);
  /// Of up to kNormColumns columns over rows.
  void (*column_moments)(std::size_t rows, std::ptrdiff_t row_stride, std::size_t columns, const float* x, float* mean,
                         double* variance);
  /// y[r][c] = (x[r][c] − mean[c]) · factor[c] + bias[c]. y may be x.
  void (*normalise_columns)(std::size_t rows, std::ptrdiff_t x_stride, std::ptrdiff_t y_stride, std::size_t columns,
                            const float* x, const float* mean, const float* factor, const float* bias, float* y);
};

/// All sets that this architecture has, weakest first.
std::span<const NormKernel* const> norm_kernels() noexcept;
const NormKernel& norm_kernel(Isa active) noexcept;

}  // namespace jitney::kernels
