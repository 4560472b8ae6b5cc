// The loop of multiply-adds with AVX-512.
#include "cpu/kernels/vec_avx512.h"

#include "cpu/kernels/peak/peak_impl.h"

namespace jitney::kernels {

float f32_peak_avx512(std::size_t rounds, float factor, float addend);
float f32_peak_avx512(std::size_t rounds, float factor, float addend) {
  return peak(rounds, factor, addend, [](V chain, V f, V a) { return fma(f, a, chain); });
}

}  // namespace jitney::kernels
