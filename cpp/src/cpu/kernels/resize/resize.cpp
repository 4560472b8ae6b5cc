// Interpolation in float32.
#include "cpu/kernels/resize/resize.h"

#include "cpu/kernels/vec4.h"

namespace jitney::kernels {

void f32_weighted_sum(std::size_t taps, const float* const* tap, const float* weight, std::size_t channels, float* y) noexcept {
  std::size_t c = 0;
  for (; c + 8 <= channels; c += 8) {
    Vec4 a = all4(0.0F), b = a;
    for (std::size_t t = 0; t < taps; ++t) {
      a += load4(tap[t] + c) * weight[t];
      b += load4(tap[t] + c + 4) * weight[t];
    }
    store4(y + c, a);
    store4(y + c + 4, b);
  }
  for (; c < channels; ++c) {
    float sum = 0;
    for (std::size_t t = 0; t < taps; ++t) sum += tap[t][c] * weight[t];
    y[c] = sum;
  }
}

}  // namespace jitney::kernels
