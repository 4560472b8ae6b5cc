// Packs the weights of a transposed convolution from a dense copy, since no two strides can say how its columns lie.
#include "cpu/conv_transpose_weights.h"

#include <vector>

namespace jitney::cpu {

void pack_transposed(const kernels::GemmKernel& gemm, const ConvProblem& problem, std::size_t group, std::size_t first,
                     std::size_t rows, const float* source, float* target) {
  const auto& [depth, height, width] = problem.geometry.kernel;
  const std::size_t columns = rows * static_cast<std::size_t>(width) * problem.filters;
  std::vector<float> dense(problem.channels * columns);
  float* to = dense.data();
  for (std::size_t c = 0; c < problem.channels; ++c) {
    const float* channel = source + static_cast<std::int64_t>(group * problem.channels + c) * problem.channel_stride;
    for (std::size_t r = 0; r < rows; ++r) {
      const auto row = static_cast<std::ptrdiff_t>(first + r);
      const float* taps = channel + row / height * problem.tap_stride[0] + row % height * problem.tap_stride[1];
      for (std::ptrdiff_t k = 0; k < width; ++k) {
        const float* tap = taps + k * problem.tap_stride[2];
        for (std::size_t m = 0; m < problem.filters; ++m) *to++ = tap[static_cast<std::int64_t>(m) * problem.filter_stride];
      }
    }
  }
  kernels::pack_b(gemm, problem.channels, columns, dense.data(), static_cast<std::ptrdiff_t>(columns), 1, target);
}

}  // namespace jitney::cpu
