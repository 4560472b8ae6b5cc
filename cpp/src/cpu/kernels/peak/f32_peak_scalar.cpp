// The loop of multiply-adds with portable code.
#include "cpu/kernels/vec_scalar.h"

#include "cpu/kernels/peak/peak_impl.h"

namespace jitney::kernels {

float f32_peak_scalar(std::size_t rounds, float factor, float addend);
// The product of the two others would be the same in all rounds, and be computed once.
float f32_peak_scalar(std::size_t rounds, float factor, float addend) {
  return peak(rounds, factor, addend, [](V chain, V f, V a) { return fma(chain, f, a); });
}

}  // namespace jitney::kernels
