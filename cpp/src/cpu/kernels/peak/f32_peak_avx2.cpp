// The loop of multiply-adds with AVX2 and FMA.
#include "cpu/kernels/vec_avx2.h"

#include "cpu/kernels/peak/peak_impl.h"

namespace jitney::kernels {

float f32_peak_avx2(std::size_t rounds, float factor, float addend);
float f32_peak_avx2(std::size_t rounds, float factor, float addend) {
  return peak(rounds, factor, addend, [](V chain, V f, V a) { return fma(f, a, chain); });
}

}  // namespace jitney::kernels
