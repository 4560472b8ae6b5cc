// Four floats as one value: compiles to SSE, NEON or plain code. For kernels that memory bounds; others have files per ISA.
#pragma once

#include <cstring>

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
inline Vec4 max_or_nan(Vec4 a, Vec4 b) { return ((b > a) | (b != b)) ? b : a; }
inline Vec4 min_or_nan(Vec4 a, Vec4 b) { return ((b < a) | (b != b)) ? b : a; }
inline float max_or_nan(float a, float b) { return b > a || b != b ? b : a; }
inline float min_or_nan(float a, float b) { return b < a || b != b ? b : a; }

}  // namespace jitney::kernels
