// The loop of multiply-adds with AVX-512.
#include <immintrin.h>

#include <cstddef>

namespace jitney::kernels {
namespace {

inline constexpr std::size_t kLanes = 16;
struct V {
  __m512 v;
};
inline V set(float x) { return {_mm512_set1_ps(x)}; }
inline void store(float* p, V a) { _mm512_storeu_ps(p, a.v); }
inline V operator+(V a, V b) { return {_mm512_add_ps(a.v, b.v)}; }
inline V next(V chain, V f, V a) { return {_mm512_fmadd_ps(f.v, a.v, chain.v)}; }

}  // namespace
}  // namespace jitney::kernels

#include "cpu/kernels/peak/peak_impl.h"

namespace jitney::kernels {

float f32_peak_avx512(std::size_t rounds, float factor, float addend);
float f32_peak_avx512(std::size_t rounds, float factor, float addend) { return peak(rounds, factor, addend); }

}  // namespace jitney::kernels
