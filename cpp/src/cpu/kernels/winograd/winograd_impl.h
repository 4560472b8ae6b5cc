// Winograd's transforms, written once for whichever V was included before. Included by f32_winograd_*.cpp only.
#pragma once

#include <numbers>

#include "cpu/kernels/winograd/winograd.h"

namespace jitney::kernels {
namespace {

inline constexpr float kRoot2 = std::numbers::sqrt2_v<float>;

/// Bᵀ·d for one line of six.
inline void transform_line(const V (&d)[6], V (&t)[6]) {
  const V even_a = fma(d[2], set(-2.0f), d[4]);
  const V odd_a = fma(d[1], set(-2.0f), d[3]) * set(kRoot2 / 2);
  const V even_b = fma(d[2], set(-0.5f), d[4]);
  const V odd_b = fma(d[1], set(-0.5f), d[3]) * set(kRoot2);
  t[0] = fma(d[2], set(-2.5f), d[0]) + d[4];
  t[1] = even_a + odd_a;
  t[2] = even_a - odd_a;
  t[3] = even_b + odd_b;
  t[4] = even_b - odd_b;
  t[5] = fma(d[3], set(-2.5f), d[1]) + d[5];
}

/// Aᵀ·m for one line of six.
inline void restore_line(const V (&m)[6], V (&y)[4]) {
  const V sum_a = m[1] + m[2], difference_a = m[1] - m[2];
  const V sum_b = m[3] + m[4], difference_b = m[3] - m[4];
  y[0] = (m[0] + sum_a) + sum_b;
  y[1] = fma(difference_b, set(kRoot2), difference_a * set(kRoot2 / 2));
  y[2] = fma(sum_b, set(2.0f), sum_a * set(0.5f));
  y[3] = fma(difference_b, set(2 * kRoot2), fma(difference_a, set(kRoot2 / 4), m[5]));
}

void winograd_input(const float* const* pixels, std::size_t channels, float* v, std::size_t point_stride) {
  for_each_vector(channels, [&](std::size_t c, auto part) {
    V rows[6][6];  // [column][row], transformed along the height
    for (std::size_t j = 0; j < 6; ++j) {
      V d[6];
#pragma GCC unroll 6
      for (std::size_t i = 0; i < 6; ++i) d[i] = part.load(pixels[6 * i + j] + c);
      transform_line(d, rows[j]);
    }
    float* to = v + c;
    for (std::size_t i = 0; i < 6; ++i) {
      V d[6], t[6];
#pragma GCC unroll 6
      for (std::size_t j = 0; j < 6; ++j) d[j] = rows[j][i];
      transform_line(d, t);
#pragma GCC unroll 6
      for (std::size_t j = 0; j < 6; ++j, to += point_stride) part.store(to, t[j]);
    }
  });
}

void winograd_output(const float* m, std::size_t point_stride, std::size_t columns, float* y, std::size_t y_stride) {
  for_each_vector(columns, [&](std::size_t c, auto part) {
    V rows[6][4];  // [column][row], restored along the height
    for (std::size_t j = 0; j < 6; ++j) {
      V line[6];
#pragma GCC unroll 6
      for (std::size_t i = 0; i < 6; ++i) line[i] = part.load(m + (6 * i + j) * point_stride + c);
      restore_line(line, rows[j]);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      V line[6], out[4];
#pragma GCC unroll 6
      for (std::size_t j = 0; j < 6; ++j) line[j] = rows[j][i];
      restore_line(line, out);
#pragma GCC unroll 4
      for (std::size_t j = 0; j < 4; ++j) part.store(y + (4 * i + j) * y_stride + c, out[j]);
    }
  });
}

}  // namespace
}  // namespace jitney::kernels
