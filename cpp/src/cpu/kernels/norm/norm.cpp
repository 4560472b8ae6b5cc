// Normalisation in float32.
#include "cpu/kernels/norm/norm.h"

#include <cmath>

#include "cpu/kernels/reduce/reduce.h"
#include "cpu/kernels/vec4.h"

namespace jitney::kernels {
namespace {

/// Squares that are summed in float32 before they join the total in float64.
constexpr std::size_t kBlock = 256;

double squared_deviation(std::size_t n, const float* x, float mean) {
  const Vec4 centre = all4(mean);
  double total = 0;
  while (n >= 8) {
    const std::size_t block = n < kBlock ? n / 8 * 8 : kBlock;
    Vec4 a = all4(0.0F), b = a;
    for (std::size_t i = 0; i < block; i += 8) {
      const Vec4 p = load4(x + i) - centre, q = load4(x + i + 4) - centre;
      a += p * p;
      b += q * q;
    }
    a += b;
    total += (static_cast<double>(a[0]) + static_cast<double>(a[1])) + (static_cast<double>(a[2]) + static_cast<double>(a[3]));
    x += block;
    n -= block;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(x[i] - mean);
    total += d * d;
  }
  return total;
}

float inverse_deviation(double squares, std::size_t n, double epsilon) {
  return static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(n) + epsilon));
}

}  // namespace

Moments f32_row_moments(std::size_t n, const float* x, double epsilon) noexcept {
  const auto mean = static_cast<float>(reduce_kernel(ReduceOp::sum).run(n, x, 0.0) / static_cast<double>(n));
  return {mean, inverse_deviation(squared_deviation(n, x, mean), n, epsilon)};
}

void f32_normalise_row(std::size_t n, const float* x, Moments moments, const float* scale, const float* bias, float* y) noexcept {
  const Vec4 mean = all4(moments.mean), factor = all4(moments.inv_std);
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    Vec4 v = (load4(x + i) - mean) * factor;
    if (scale != nullptr) v *= load4(scale + i);
    if (bias != nullptr) v += load4(bias + i);
    store4(y + i, v);
  }
  for (; i < n; ++i) {
    float v = (x[i] - moments.mean) * moments.inv_std;
    if (scale != nullptr) v *= scale[i];
    if (bias != nullptr) v += bias[i];
    y[i] = v;
  }
}

void f32_column_moments(std::size_t rows, std::ptrdiff_t row_stride, std::size_t columns, const float* x, double epsilon,
                        float* mean, float* inv_std) noexcept {
  double sums[kReduceColumns] = {}, squares[kReduceColumns] = {};
  reduce_kernel(ReduceOp::sum).columns(rows, row_stride, columns, x, sums);
  for (std::size_t c = 0; c < columns; ++c) mean[c] = static_cast<float>(sums[c] / static_cast<double>(rows));
  for (std::size_t r = 0; r < rows; ++r, x += row_stride) {
    for (std::size_t c = 0; c < columns; ++c) {
      const double d = static_cast<double>(x[c] - mean[c]);
      squares[c] += d * d;
    }
  }
  for (std::size_t c = 0; c < columns; ++c) inv_std[c] = inverse_deviation(squares[c], rows, epsilon);
}

void f32_normalise_columns(std::size_t rows, std::ptrdiff_t x_stride, std::ptrdiff_t y_stride, std::size_t columns,
                           const float* x, const float* mean, const float* factor, const float* bias, float* y) noexcept {
  for (std::size_t r = 0; r < rows; ++r, x += x_stride, y += y_stride) {
    std::size_t c = 0;
    for (; c + 4 <= columns; c += 4) store4(y + c, (load4(x + c) - load4(mean + c)) * load4(factor + c) + load4(bias + c));
    for (; c < columns; ++c) y[c] = (x[c] - mean[c]) * factor[c] + bias[c];
  }
}

}  // namespace jitney::kernels
