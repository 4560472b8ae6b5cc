// Normalisation in float32: to mean 0 and variance 1, then scaled and shifted.
#pragma once

#include <cstddef>

namespace jitney::kernels {

struct Moments {
  float mean;
  float inv_std;  // 1 / √(variance + ε)
};

/// Of a contiguous row: the mean first, then the squares of what deviates from it.
Moments f32_row_moments(std::size_t n, const float* x, double epsilon) noexcept;
/// y = (x − mean) · inv_std · scale + bias, element by element; scale or bias may be null. y may be x.
void f32_normalise_row(std::size_t n, const float* x, Moments moments, const float* scale, const float* bias, float* y) noexcept;

/// Of up to kReduceColumns columns over rows.
void f32_column_moments(std::size_t rows, std::ptrdiff_t row_stride, std::size_t columns, const float* x, double epsilon,
                        float* mean, float* inv_std) noexcept;
/// y[r][c] = (x[r][c] − mean[c]) · factor[c] + bias[c]. y may be x.
void f32_normalise_columns(std::size_t rows, std::ptrdiff_t x_stride, std::ptrdiff_t y_stride, std::size_t columns,
                           const float* x, const float* mean, const float* factor, const float* bias, float* y) noexcept;

}  // namespace jitney::kernels
