// Four floats in a NEON register (AArch64): the vocabulary in which epilogue, depthwise and elementwise kernels are written.
// Included by *_neon.cpp only; see vec_avx2.h for the meaning of each function.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace jitney::kernels {
namespace {

inline constexpr std::size_t kLanes = 4;

struct V {
  float32x4_t v;
};
struct Mask {
  uint32x4_t v;
};

inline V set(float x) { return {vdupq_n_f32(x)}; }
inline V zero() { return {vdupq_n_f32(0.0f)}; }
inline V load(const float* p) { return {vld1q_f32(p)}; }
inline V load_bytes(const std::uint8_t* p) {
  std::uint32_t four;
  std::memcpy(&four, p, sizeof four);
  const uint16x8_t wide = vmovl_u8(vcreate_u8(four));
  return {vcvtq_f32_u32(vmovl_u16(vget_low_u16(wide)))};
}
inline void store(float* p, V a) { vst1q_f32(p, a.v); }

inline V load_part(const float* p, std::size_t n) {
  float32x4_t v = vdupq_n_f32(0.0f);
  if (n > 0) v = vsetq_lane_f32(p[0], v, 0);
  if (n > 1) v = vsetq_lane_f32(p[1], v, 1);
  if (n > 2) v = vsetq_lane_f32(p[2], v, 2);
  return {v};
}
inline void store_part(float* p, V a, std::size_t n) {
  if (n > 0) vst1q_lane_f32(p, a.v, 0);
  if (n > 1) vst1q_lane_f32(p + 1, a.v, 1);
  if (n > 2) vst1q_lane_f32(p + 2, a.v, 2);
}

inline V operator+(V a, V b) { return {vaddq_f32(a.v, b.v)}; }
inline V operator-(V a, V b) { return {vsubq_f32(a.v, b.v)}; }
inline V operator*(V a, V b) { return {vmulq_f32(a.v, b.v)}; }
inline V operator/(V a, V b) { return {vdivq_f32(a.v, b.v)}; }
inline V fma(V a, V b, V c) { return {vfmaq_f32(c.v, a.v, b.v)}; }
inline V fma(V a, float x, V c) { return {vfmaq_n_f32(c.v, a.v, x)}; }
inline V sqrt(V a) { return {vsqrtq_f32(a.v)}; }
inline V floor(V a) { return {vrndmq_f32(a.v)}; }
inline V ceil(V a) { return {vrndpq_f32(a.v)}; }
inline V round_even(V a) { return {vrndnq_f32(a.v)}; }
inline V negate(V a) { return {vnegq_f32(a.v)}; }
inline V abs(V a) { return {vabsq_f32(a.v)}; }
inline V copy_sign(V magnitude, V sign) { return {vbslq_f32(vdupq_n_u32(0x80000000u), sign.v, magnitude.v)}; }

inline Mask operator<(V a, V b) { return {vcltq_f32(a.v, b.v)}; }
inline V select(Mask m, V yes, V no) { return {vbslq_f32(m.v, yes.v, no.v)}; }

// FMAX and FMIN give NaN if either operand is NaN.
inline V at_least(V a, V bound) { return {vmaxq_f32(a.v, bound.v)}; }
inline V at_most(V a, V bound) { return {vminq_f32(a.v, bound.v)}; }
inline V max(V a, V b) { return {vmaxq_f32(a.v, b.v)}; }
inline V min(V a, V b) { return {vminq_f32(a.v, b.v)}; }

inline V scale_by_power(V a, V n) {
  const int32x4_t whole = vcvtnq_s32_f32(n.v);
  const int32x4_t half = vshrq_n_s32(whole, 1);
  const int32x4_t bias = vdupq_n_s32(127);
  const int32x4_t first = vshlq_n_s32(vaddq_s32(half, bias), 23);
  const int32x4_t second = vshlq_n_s32(vaddq_s32(vsubq_s32(whole, half), bias), 23);
  return {vmulq_f32(vmulq_f32(a.v, vreinterpretq_f32_s32(first)), vreinterpretq_f32_s32(second))};
}
inline V power_from_bits(V a) { return {vreinterpretq_f32_s32(vshlq_n_s32(vreinterpretq_s32_f32(a.v), 23))}; }
inline V exponent_of(V a) {
  const uint32x4_t bits = vshrq_n_u32(vreinterpretq_u32_f32(a.v), 23);
  return {vcvtq_f32_s32(vsubq_s32(vreinterpretq_s32_u32(bits), vdupq_n_s32(126)))};
}
inline V fraction_of(V a) { return {vbslq_f32(vdupq_n_u32(0x007FFFFF), a.v, vdupq_n_f32(0.5f))}; }

}  // namespace
}  // namespace jitney::kernels
