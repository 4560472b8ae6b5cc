// Softmax and its logarithm over contiguous rows in float32.
#include "cpu/kernels/softmax/softmax.h"

#include <cmath>

#include "cpu/kernels/reduce/reduce.h"
#include "cpu/kernels/vec4.h"

namespace jitney::kernels {
namespace {

constexpr std::size_t kBlock = 512;

void subtract(std::size_t n, const float* x, float value, float* y) {
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) store4(y + i, load4(x + i) - value);
  for (; i < n; ++i) y[i] = x[i] - value;
}

float largest(std::size_t n, const float* x) {
  const ReduceKernel& max = reduce_kernel(ReduceOp::max);
  return static_cast<float>(max.run(n, x, max.start));
}

}  // namespace

SoftmaxKernel softmax_kernel(Isa active) noexcept { return {unary_kernel(active, UnaryOp::exp)}; }

void f32_softmax_row(const SoftmaxKernel& kernel, std::size_t n, const float* x, float* y) noexcept {
  const float max = largest(n, x);
  double sum = 0;
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t some = n - first < kBlock ? n - first : kBlock;
    subtract(some, x + first, max, y + first);
    kernel.exp(some, y + first, y + first, 0.0F, 0.0F);
    sum = reduce_kernel(ReduceOp::sum).run(some, y + first, sum);
  }
  const auto factor = static_cast<float>(1.0 / sum);
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) store4(y + i, load4(y + i) * factor);
  for (; i < n; ++i) y[i] *= factor;
}

void f32_log_softmax_row(const SoftmaxKernel& kernel, std::size_t n, const float* x, float* y) noexcept {
  const float max = largest(n, x);
  float buffer[kBlock];
  double sum = 0;
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t some = n - first < kBlock ? n - first : kBlock;
    subtract(some, x + first, max, buffer);
    kernel.exp(some, buffer, buffer, 0.0F, 0.0F);
    sum = reduce_kernel(ReduceOp::sum).run(some, buffer, sum);
  }
  const auto log_sum = static_cast<float>(std::log(sum));
  for (std::size_t i = 0; i < n; ++i) y[i] = x[i] - max - log_sum;
}

}  // namespace jitney::kernels
