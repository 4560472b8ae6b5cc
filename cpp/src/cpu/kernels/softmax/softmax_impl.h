// Softmax of a row, written once for whichever V was included before. Included by f32_softmax_*.cpp only.
#pragma once

#include <cmath>

#include "cpu/kernels/softmax/softmax.h"

namespace jitney::kernels {
namespace {

/// Powers that are summed in float32 before they join the total in float64.
constexpr std::size_t kBlock = 512;

/// A NaN among the numbers may be lost: its own power will be NaN.
float largest(std::size_t n, const float* x) {
  float top = x[0];
  if (n < kLanes) {
    for (std::size_t i = 1; i < n; ++i) top = x[i] > top ? x[i] : top;
    return top;
  }
  // The last vector overlaps the one before it.
  V a = load(x), b = load(x + n - kLanes);
  std::size_t i = kLanes;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    a = at_least(load(x + i), a);
    b = at_least(load(x + i + kLanes), b);
  }
  if (i + kLanes <= n) a = at_least(load(x + i), a);
  alignas(64) float lanes[2 * kLanes];
  store(lanes, a);
  store(lanes + kLanes, b);
  for (const float lane : lanes) top = lane > top ? lane : top;
  return top;
}

/// Σ exp(x − top); the powers go to y unless it is null.
double sum_powers(std::size_t n, const float* x, float top, float* y) {
  const V minus = set(top);
  double total = 0;
  while (n != 0) {
    const std::size_t block = n < kBlock ? n : kBlock;
    V sum = zero();
    alignas(64) float lanes[kLanes];
    std::size_t i = 0;
    for (; i + kLanes <= block; i += kLanes) {
      const V power = exp_decay(load(x + i) - minus);
      if (y != nullptr) store(y + i, power);
      sum = sum + power;
    }
    if (i < block) {
      const PartVector part{block - i};
      const V power = exp_decay(part.load(x + i) - minus);
      if (y != nullptr) part.store(y + i, power);
      part.store(lanes, power);  // what lies beyond the row is none of it
      sum = sum + part.load(lanes);
    }
    store(lanes, sum);
    for (const float lane : lanes) total += static_cast<double>(lane);
    x += block;
    if (y != nullptr) y += block;
    n -= block;
  }
  return total;
}

void softmax_row(std::size_t n, const float* x, float* y) {
  if (n == 0) return;
  const V factor = set(static_cast<float>(1.0 / sum_powers(n, x, largest(n, x), y)));
  for_each_vector(n, [&](std::size_t i, auto part) { part.store(y + i, part.load(y + i) * factor); });
}

void log_softmax_row(std::size_t n, const float* x, float* y) {
  if (n == 0) return;
  const float top = largest(n, x);
  const V minus = set(top), log_sum = set(static_cast<float>(std::log(sum_powers(n, x, top, nullptr))));
  for_each_vector(n, [&](std::size_t i, auto part) { part.store(y + i, part.load(x + i) - minus - log_sum); });
}

}  // namespace
}  // namespace jitney::kernels
