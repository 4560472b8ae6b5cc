// Sixteen floats in an AVX-512 register: the vocabulary in which epilogue, depthwise and elementwise kernels are written.
// Included by *_avx512.cpp only; see vec_avx2.h for the meaning of each function.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace jitney::kernels {
namespace {

inline constexpr std::size_t kLanes = 16;

struct V {
  __m512 v;
};
struct Mask {
  __mmask16 v;
};

inline __mmask16 first_lanes(std::size_t n) { return static_cast<__mmask16>((1u << n) - 1); }

inline V set(float x) { return {_mm512_set1_ps(x)}; }
inline V zero() { return {_mm512_setzero_ps()}; }
inline V load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline V load_bytes(const std::uint8_t* p) {
  const __m512i wide = _mm512_maskz_cvtepu8_epi32(0xFFFF, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return {_mm512_maskz_cvtepi32_ps(0xFFFF, wide)};
}
inline void store(float* p, V a) { _mm512_storeu_ps(p, a.v); }
inline V load_part(const float* p, std::size_t n) { return {_mm512_maskz_loadu_ps(first_lanes(n), p)}; }
inline void store_part(float* p, V a, std::size_t n) { _mm512_mask_storeu_ps(p, first_lanes(n), a.v); }

inline V operator+(V a, V b) { return {_mm512_add_ps(a.v, b.v)}; }
inline V operator-(V a, V b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline V operator*(V a, V b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline V operator/(V a, V b) { return {_mm512_div_ps(a.v, b.v)}; }
inline V fma(V a, V b, V c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline V fma(V a, float x, V c) { return fma(a, set(x), c); }
inline void add_product(V& sum, V a, V b) { sum = fma(a, b, sum); }
inline V sqrt(V a) { return {_mm512_maskz_sqrt_ps(0xFFFF, a.v)}; }
// With every lane in the mask: gcc 12 takes the plain forms' undefined source for a use before initialisation.
inline constexpr int kDown = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
inline constexpr int kUp = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;
inline constexpr int kToEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
inline V floor(V a) { return {_mm512_maskz_roundscale_ps(0xFFFF, a.v, kDown)}; }
inline V ceil(V a) { return {_mm512_maskz_roundscale_ps(0xFFFF, a.v, kUp)}; }
inline V round_even(V a) { return {_mm512_maskz_roundscale_ps(0xFFFF, a.v, kToEven)}; }
inline V negate(V a) { return {_mm512_xor_ps(a.v, _mm512_set1_ps(-0.0f))}; }
inline V abs(V a) { return {_mm512_andnot_ps(_mm512_set1_ps(-0.0f), a.v)}; }
inline V copy_sign(V magnitude, V sign) {
  const __m512 bit = _mm512_set1_ps(-0.0f);
  return {_mm512_or_ps(_mm512_andnot_ps(bit, magnitude.v), _mm512_and_ps(bit, sign.v))};
}

inline Mask operator<(V a, V b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
inline V select(Mask m, V yes, V no) { return {_mm512_mask_blend_ps(m.v, no.v, yes.v)}; }

inline V at_least(V a, V bound) { return {_mm512_maskz_max_ps(0xFFFF, bound.v, a.v)}; }
inline V at_most(V a, V bound) { return {_mm512_maskz_min_ps(0xFFFF, bound.v, a.v)}; }
// The instruction returns its second operand if either is NaN; where the first is, that one is kept.
inline V max(V a, V b) { return {_mm512_mask_max_ps(a.v, _mm512_cmp_ps_mask(a.v, a.v, _CMP_ORD_Q), a.v, b.v)}; }
inline V min(V a, V b) { return {_mm512_mask_min_ps(a.v, _mm512_cmp_ps_mask(a.v, a.v, _CMP_ORD_Q), a.v, b.v)}; }

inline V scale_by_power(V a, V n) {
  // One instruction scales by any power, denormal and infinite results included; NaN in either gives NaN.
  return {_mm512_maskz_scalef_ps(0xFFFF, a.v, n.v)};
}
inline V power_from_bits(V a) { return {_mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xFFFF, _mm512_castps_si512(a.v), 23))}; }
inline V exponent_of(V a) {
  const __m512i bits = _mm512_maskz_srli_epi32(0xFFFF, _mm512_castps_si512(a.v), 23);
  return {_mm512_maskz_cvtepi32_ps(0xFFFF, _mm512_sub_epi32(bits, _mm512_set1_epi32(126)))};
}
inline V fraction_of(V a) {
  const __m512 bits = _mm512_castsi512_ps(_mm512_set1_epi32(0x007FFFFF));
  return {_mm512_or_ps(_mm512_and_ps(a.v, bits), _mm512_set1_ps(0.5f))};
}

}  // namespace
}  // namespace jitney::kernels
