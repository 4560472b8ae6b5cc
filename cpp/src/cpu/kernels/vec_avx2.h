// Eight floats in an AVX2 register: the vocabulary in which epilogue, depthwise and elementwise kernels are written.
// Included by *_avx2.cpp only; the unnamed namespace keeps AVX2 code out of symbols that other files share.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace jitney::kernels {
namespace {

inline constexpr std::size_t kLanes = 8;

struct V {
  __m256 v;
};
struct Mask {
  __m256 v;
};

inline V set(float x) { return {_mm256_set1_ps(x)}; }
inline V zero() { return {_mm256_setzero_ps()}; }
inline V load(const float* p) { return {_mm256_loadu_ps(p)}; }
/// So many bytes as numbers.
inline V load_bytes(const std::uint8_t* p) {
  return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))))};
}
inline void store(float* p, V a) { _mm256_storeu_ps(p, a.v); }

/// The first n < kLanes lanes; the others are zero.
inline V load_part(const float* p, std::size_t n) {
  alignas(32) static constexpr std::int32_t kMasks[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
  return {_mm256_maskload_ps(p, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMasks + 8 - n)))};
}
// Stores of 4, 2 and 1 lanes: a masked store is very slow on AMD processors.
inline void store_part(float* p, V a, std::size_t n) {
  __m128 rest = _mm256_castps256_ps128(a.v);
  if ((n & 4) != 0) {
    _mm_storeu_ps(p, rest);
    rest = _mm256_extractf128_ps(a.v, 1);
    p += 4;
  }
  if ((n & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), rest);
    rest = _mm_movehl_ps(rest, rest);
    p += 2;
  }
  if ((n & 1) != 0) _mm_store_ss(p, rest);
}

inline V operator+(V a, V b) { return {_mm256_add_ps(a.v, b.v)}; }
inline V operator-(V a, V b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline V operator*(V a, V b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline V operator/(V a, V b) { return {_mm256_div_ps(a.v, b.v)}; }
/// a·b + c, rounded once where the level has it.
inline V fma(V a, V b, V c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
/// The same with one number for all lanes of b.
inline V fma(V a, float x, V c) { return fma(a, set(x), c); }
/// sum = a·b + sum, in place: in unrolled loops gcc moves sums between registers until it has none left.
inline void add_product(V& sum, V a, V b) { __asm__("vfmadd231ps %2, %1, %0" : "+x"(sum.v) : "x"(a.v), "x"(b.v)); }
inline V sqrt(V a) { return {_mm256_sqrt_ps(a.v)}; }
inline V floor(V a) { return {_mm256_floor_ps(a.v)}; }
inline V ceil(V a) { return {_mm256_ceil_ps(a.v)}; }
inline V round_even(V a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
inline V negate(V a) { return {_mm256_xor_ps(a.v, _mm256_set1_ps(-0.0f))}; }
inline V abs(V a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
inline V copy_sign(V magnitude, V sign) {
  const __m256 bit = _mm256_set1_ps(-0.0f);
  return {_mm256_or_ps(_mm256_andnot_ps(bit, magnitude.v), _mm256_and_ps(bit, sign.v))};
}

inline Mask operator<(V a, V b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)}; }
inline V select(Mask m, V yes, V no) { return {_mm256_blendv_ps(no.v, yes.v, m.v)}; }

/// a, but not below the bound; NaN stays NaN (the instruction returns its second operand if either is NaN).
inline V at_least(V a, V bound) { return {_mm256_max_ps(bound.v, a.v)}; }
inline V at_most(V a, V bound) { return {_mm256_min_ps(bound.v, a.v)}; }
/// NaN if either is NaN.
inline V max(V a, V b) { return {_mm256_blendv_ps(_mm256_max_ps(a.v, b.v), a.v, _mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q))}; }
inline V min(V a, V b) { return {_mm256_blendv_ps(_mm256_min_ps(a.v, b.v), a.v, _mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q))}; }

/// a·2^n for integral n in [-252, 254], in two steps so that results may be denormal or infinite.
inline V scale_by_power(V a, V n) {
  const __m256i whole = _mm256_cvtps_epi32(n.v);
  const __m256i half = _mm256_srai_epi32(whole, 1);
  const __m256i bias = _mm256_set1_epi32(127);
  const __m256i first = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
  const __m256i second = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(whole, half), bias), 23);
  return {_mm256_mul_ps(_mm256_mul_ps(a.v, _mm256_castsi256_ps(first)), _mm256_castsi256_ps(second))};
}
/// The number whose sign and exponent are the last nine bits of a's representation, and whose fraction is zero.
inline V power_from_bits(V a) { return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(a.v), 23))}; }
/// A positive normal number as fraction · 2^exponent with the fraction in [0.5, 1).
inline V exponent_of(V a) {
  return {_mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srli_epi32(_mm256_castps_si256(a.v), 23), _mm256_set1_epi32(126)))};
}
inline V fraction_of(V a) {
  const __m256 bits = _mm256_castsi256_ps(_mm256_set1_epi32(0x007FFFFF));
  return {_mm256_or_ps(_mm256_and_ps(a.v, bits), _mm256_set1_ps(0.5f))};
}

}  // namespace
}  // namespace jitney::kernels
