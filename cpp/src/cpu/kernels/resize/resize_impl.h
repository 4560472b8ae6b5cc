// Interpolation between rows, written once for whichever V was included before. Included by f32_resize_*.cpp only.
#pragma once

#include "cpu/kernels/resize/resize.h"

namespace jitney::kernels {
namespace {

void blend(std::size_t count, const float* const* rows, const float* weight, std::size_t n, float* y) {
  if (count == 0) return;
  const V first = set(weight[0]);
  std::size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    V a = load(rows[0] + i) * first, b = load(rows[0] + i + kLanes) * first;
    for (std::size_t r = 1; r < count; ++r) {
      const V by = set(weight[r]);
      a = a + load(rows[r] + i) * by;
      b = b + load(rows[r] + i + kLanes) * by;
    }
    store(y + i, a);
    store(y + i + kLanes, b);
  }
  for_each_vector(n - i, [&](std::size_t at, auto part) {
    V a = part.load(rows[0] + i + at) * first;
    for (std::size_t r = 1; r < count; ++r) a = a + part.load(rows[r] + i + at) * set(weight[r]);
    part.store(y + i + at, a);
  });
}

}  // namespace
}  // namespace jitney::kernels
