// Four floats in plain C++: the vocabulary in which epilogue, depthwise and elementwise kernels are written, for any processor.
// See vec_avx2.h for the meaning of each function. fma rounds twice here: a fused one in software would be very slow.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace jitney::kernels {
namespace {

inline constexpr std::size_t kLanes = 4;

// The compiler's own vectors: processors without any get the same results, those with some get small code.
typedef float Floats __attribute__((vector_size(16)));
typedef std::int32_t Ints __attribute__((vector_size(16)));

struct V {
  Floats v;
};
struct Mask {
  Ints v;
};

template <typename F>
inline V each(F f) {
  return {Floats{f(0), f(1), f(2), f(3)}};
}

inline V set(float x) { return {Floats{x, x, x, x}}; }
inline V zero() { return set(0.0f); }
inline V load(const float* p) {
  V a;
  std::memcpy(&a, p, sizeof a);
  return a;
}
inline V load_bytes(const std::uint8_t* p) {
  return each([=](std::size_t i) { return static_cast<float>(p[i]); });
}
inline void store(float* p, V a) { std::memcpy(p, &a, sizeof a); }
inline V load_part(const float* p, std::size_t n) {
  return each([=](std::size_t i) { return i < n ? p[i] : 0.0f; });
}
inline void store_part(float* p, V a, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) p[i] = a.v[i];
}

inline V operator+(V a, V b) { return {a.v + b.v}; }
inline V operator-(V a, V b) { return {a.v - b.v}; }
inline V operator*(V a, V b) { return {a.v * b.v}; }
inline V operator/(V a, V b) { return {a.v / b.v}; }
inline V fma(V a, V b, V c) { return a * b + c; }
inline V fma(V a, float x, V c) { return fma(a, set(x), c); }
inline V sqrt(V a) {
  return each([=](std::size_t i) { return std::sqrt(a.v[i]); });
}
inline V floor(V a) {
  return each([=](std::size_t i) { return std::floor(a.v[i]); });
}
inline V ceil(V a) {
  return each([=](std::size_t i) { return std::ceil(a.v[i]); });
}
inline V round_even(V a) {
  return each([=](std::size_t i) { return std::nearbyint(a.v[i]); });
}
inline V negate(V a) { return {-a.v}; }
inline V abs(V a) {
  return each([=](std::size_t i) { return std::abs(a.v[i]); });
}
inline V copy_sign(V magnitude, V sign) {
  return each([=](std::size_t i) { return std::copysign(magnitude.v[i], sign.v[i]); });
}

inline Mask operator<(V a, V b) { return {a.v < b.v}; }
inline V select(Mask m, V yes, V no) { return {m.v ? yes.v : no.v}; }

inline V at_least(V a, V bound) { return {a.v < bound.v ? bound.v : a.v}; }
inline V at_most(V a, V bound) { return {a.v > bound.v ? bound.v : a.v}; }
inline V max(V a, V b) { return {((a.v > b.v) | (a.v != a.v)) ? a.v : b.v}; }
inline V min(V a, V b) { return {((a.v < b.v) | (a.v != a.v)) ? a.v : b.v}; }

inline V scale_by_power(V a, V n) {
  return each([=](std::size_t i) {
    // The conversion of a NaN would be undefined; the product is NaN whatever the power.
    const std::int32_t whole = std::isnan(n.v[i]) ? 0 : static_cast<std::int32_t>(n.v[i]);
    const std::int32_t half = whole >> 1;
    const float first = std::bit_cast<float>((half + 127) << 23);
    const float second = std::bit_cast<float>((whole - half + 127) << 23);
    return a.v[i] * first * second;
  });
}
inline V power_from_bits(V a) {
  return each([=](std::size_t i) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(a.v[i]) << 23); });
}
inline V exponent_of(V a) {
  return each(
      [=](std::size_t i) { return static_cast<float>(static_cast<int>(std::bit_cast<std::uint32_t>(a.v[i]) >> 23) - 126); });
}
inline V fraction_of(V a) {
  return each(
      [=](std::size_t i) { return std::bit_cast<float>((std::bit_cast<std::uint32_t>(a.v[i]) & 0x007FFFFFU) | 0x3F000000U); });
}

}  // namespace
}  // namespace jitney::kernels
