// Stands in for the compiler's header where AVX-512 is emulated: SIMDe under the instructions' own names, and what versions of it
// lack that are in use.
#pragma once

#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#if !defined(_MM_FROUND_NO_EXC)
#define _MM_FROUND_NO_EXC SIMDE_MM_FROUND_NO_EXC
#endif

using __mmask16 = simde__mmask16;

template <typename To, typename Lane>
inline To jitney_each_lane(Lane lane) {
  std::uint32_t bits[16];
  for (unsigned i = 0; i < 16; ++i) bits[i] = std::bit_cast<std::uint32_t>(lane(i));
  To result;
  std::memcpy(&result, bits, sizeof result);
  return result;
}
template <typename Element, typename From>
inline Element jitney_lane(const From& from, unsigned i) {
  Element element;
  std::memcpy(&element, reinterpret_cast<const char*>(&from) + i * sizeof element, sizeof element);
  return element;
}

#if !defined(_mm512_maskz_loadu_ps)
inline __m512 _mm512_maskz_loadu_ps(__mmask16 mask, const void* p) {
  return jitney_each_lane<__m512>([&](unsigned i) { return (mask >> i & 1) != 0 ? static_cast<const float*>(p)[i] : 0.0f; });
}
#endif
#if !defined(_mm512_mask_storeu_ps)
inline void _mm512_mask_storeu_ps(void* p, __mmask16 mask, __m512 a) {
  for (unsigned i = 0; i < 16; ++i) {
    if ((mask >> i & 1) != 0) static_cast<float*>(p)[i] = jitney_lane<float>(a, i);
  }
}
#endif
#if !defined(_mm512_maskz_sqrt_ps)
inline __m512 _mm512_maskz_sqrt_ps(__mmask16 mask, __m512 a) { return _mm512_maskz_mov_ps(mask, _mm512_sqrt_ps(a)); }
#endif
#if !defined(_mm512_maskz_cvtepi32_ps)
inline __m512 _mm512_maskz_cvtepi32_ps(__mmask16 mask, __m512i a) {
  return jitney_each_lane<__m512>(
      [&](unsigned i) { return (mask >> i & 1) != 0 ? static_cast<float>(jitney_lane<std::int32_t>(a, i)) : 0.0f; });
}
#endif
#if !defined(_mm512_maskz_slli_epi32)
inline __m512i _mm512_maskz_slli_epi32(__mmask16 mask, __m512i a, unsigned n) {
  return _mm512_maskz_mov_epi32(mask, _mm512_slli_epi32(a, n));
}
#endif
#if !defined(_mm512_maskz_srli_epi32)
inline __m512i _mm512_maskz_srli_epi32(__mmask16 mask, __m512i a, unsigned n) {
  return _mm512_maskz_mov_epi32(mask, _mm512_srli_epi32(a, n));
}
#endif
#if !defined(_mm512_maskz_cvtepu8_epi32)
inline __m512i _mm512_maskz_cvtepu8_epi32(__mmask16 mask, __m128i a) {
  return jitney_each_lane<__m512i>(
      [&](unsigned i) { return (mask >> i & 1) != 0 ? std::uint32_t{jitney_lane<std::uint8_t>(a, i)} : std::uint32_t{0}; });
}
#endif
// SIMDe's takes 2^128 for infinity where the product would be finite.
#undef _mm512_maskz_scalef_ps
inline __m512 _mm512_maskz_scalef_ps(__mmask16 mask, __m512 a, __m512 n) {
  return jitney_each_lane<__m512>([&](unsigned i) {
    const float x = jitney_lane<float>(a, i), power = jitney_lane<float>(n, i);
    if ((mask >> i & 1) == 0) return 0.0f;
    return std::isnan(power) ? power : std::ldexp(x, static_cast<int>(std::floor(power)));
  });
}
