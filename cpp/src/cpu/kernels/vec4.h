// Four floats as one value: compiles to SSE, NEON or plain code. For kernels that memory bounds; others have files per ISA.
#pragma once

#include <cstring>

#if defined(__SSE__)
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace jitney::kernels {

typedef float Vec4 __attribute__((vector_size(16)));

inline Vec4 load4(const float* from) {
  Vec4 v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
inline void store4(float* to, Vec4 v) { std::memcpy(to, &v, sizeof v); }
inline Vec4 all4(float x) { return Vec4{x, x, x, x}; }

/// The larger of both; NaN if either is NaN.
inline Vec4 max_or_nan(Vec4 a, Vec4 b) {
#if defined(__SSE__)
  return _mm_or_ps(_mm_max_ps(b, a), _mm_cmpunord_ps(b, b));  // max_ps gives its second operand if one is NaN
#elif defined(__aarch64__)
  return vmaxq_f32(a, b);
#else
  return ((b > a) | (b != b)) ? b : a;
#endif
}
inline Vec4 min_or_nan(Vec4 a, Vec4 b) {
#if defined(__SSE__)
  return _mm_or_ps(_mm_min_ps(b, a), _mm_cmpunord_ps(b, b));
#elif defined(__aarch64__)
  return vminq_f32(a, b);
#else
  return ((b < a) | (b != b)) ? b : a;
#endif
}
inline float max_or_nan(float a, float b) { return b > a || b != b ? b : a; }
inline float min_or_nan(float a, float b) { return b < a || b != b ? b : a; }

}  // namespace jitney::kernels
