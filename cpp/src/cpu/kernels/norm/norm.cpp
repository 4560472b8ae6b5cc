// Normalisation in float32.
#include "cpu/kernels/norm/norm.h"

#include <cmath>

#include "cpu/kernels/reduce/reduce.h"
#include "cpu/kernels/vec4.h"

namespace jitney::kernels {
namespace {

/// Squares that are summed in float32 before they join the total in float64.
constexpr std::size_t kBlock = 256;

/// Sum and sum of squares of what numbers differ from a centre.
struct Deviations {
  double sum = 0, squares = 0;
};

double sum_of(const Vec4& v) {
  return (static_cast<double>(v[0]) + static_cast<double>(v[1])) + (static_cast<double>(v[2]) + static_cast<double>(v[3]));
}

Deviations deviations(std::size_t n, const float* x, float centre) {
  const Vec4 centre4 = all4(centre);
  Deviations total;
  while (n >= 8) {
    const std::size_t block = n < kBlock ? n / 8 * 8 : kBlock;
    Vec4 a = all4(0.0F), b = a, sum = a;
    for (std::size_t i = 0; i < block; i += 8) {
      const Vec4 p = load4(x + i) - centre4, q = load4(x + i + 4) - centre4;
      a += p * p;
      b += q * q;
      sum += p + q;
    }
    total.squares += sum_of(a + b);
    total.sum += sum_of(sum);
    x += block;
    n -= block;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(x[i] - centre);
    total.sum += d;
    total.squares += d * d;
  }
  return total;
}

/// The moments from the deviations around a mean that is a few units off in the last place: where all numbers are alike, the
/// division by √ε would make an error of hundreds of units of that.
Moments corrected(float mean, const Deviations& around, std::size_t n, double epsilon) {
  const double count = static_cast<double>(n);
  const auto exact = static_cast<float>(static_cast<double>(mean) + around.sum / count);
  const double moved = static_cast<double>(exact) - static_cast<double>(mean);
  const double variance = (around.squares - 2 * moved * around.sum) / count + moved * moved;
  return {exact, static_cast<float>(1.0 / std::sqrt((variance < 0 ? 0 : variance) + epsilon))};
}

}  // namespace

Moments f32_row_moments(std::size_t n, const float* x, double epsilon) noexcept {
  const auto mean = static_cast<float>(reduce_kernel(ReduceOp::sum).run(n, x, 0.0) / static_cast<double>(n));
  return corrected(mean, deviations(n, x, mean), n, epsilon);
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
  double sums[kReduceColumns] = {};
  Deviations around[kReduceColumns];
  reduce_kernel(ReduceOp::sum).columns(rows, row_stride, columns, x, sums);
  for (std::size_t c = 0; c < columns; ++c) mean[c] = static_cast<float>(sums[c] / static_cast<double>(rows));
  for (std::size_t r = 0; r < rows; ++r, x += row_stride) {
    for (std::size_t c = 0; c < columns; ++c) {
      const double d = static_cast<double>(x[c] - mean[c]);
      around[c].sum += d;
      around[c].squares += d * d;
    }
  }
  for (std::size_t c = 0; c < columns; ++c) {
    const Moments moments = corrected(mean[c], around[c], rows, epsilon);
    mean[c] = moments.mean;
    inv_std[c] = moments.inv_std;
  }
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
