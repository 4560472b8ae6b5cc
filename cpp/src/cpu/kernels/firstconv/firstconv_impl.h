// The register tiles of the first-layer convolution, written once for whichever V was included before.
// Included by f32_firstconv_*.cpp only.
#pragma once

#include "cpu/kernels/firstconv/firstconv.h"

namespace jitney::kernels {
namespace {

// Pixels are rows, vectors of filters are columns. Accumulators are named: gcc stores an array of them in every iteration.
#define JITNEY_PIXELS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

template <std::size_t kPixels, std::size_t kVectors>
inline void one_tile(const FirstTiles& run, std::ptrdiff_t offset, float* y) {
  const std::ptrdiff_t step = run.pixel_step;
  const float* w = run.w;
#define JITNEY_DECLARE(p) [[maybe_unused]] V a##p = zero(), b##p = zero(), c##p = zero(), d##p = zero();
  JITNEY_PIXELS(JITNEY_DECLARE)
  for (std::size_t k = 0; k < run.k; ++k, w += kVectors * kLanes) {
    const float* x = run.taps[k] + offset;
    [[maybe_unused]] const V wa = load(w);
    [[maybe_unused]] const V wb = load(w + (kVectors > 1 ? kLanes : 0));
    [[maybe_unused]] const V wc = load(w + (kVectors > 2 ? 2 * kLanes : 0));
    [[maybe_unused]] const V wd = load(w + (kVectors > 3 ? 3 * kLanes : 0));
#define JITNEY_STEP(p)                                        \
  if constexpr (p < kPixels) {                                \
    const float number = x[p * step];                         \
    a##p = fma(wa, number, a##p);                             \
    if constexpr (kVectors > 1) b##p = fma(wb, number, b##p); \
    if constexpr (kVectors > 2) c##p = fma(wc, number, c##p); \
    if constexpr (kVectors > 3) d##p = fma(wd, number, d##p); \
  }
    JITNEY_PIXELS(JITNEY_STEP)
  }
  [[maybe_unused]] V ba = zero(), bb = zero(), bc = zero(), bd = zero();
  if (run.bias != nullptr) {
    ba = load(run.bias);
    if constexpr (kVectors > 1) bb = load(run.bias + kLanes);
    if constexpr (kVectors > 2) bc = load(run.bias + 2 * kLanes);
    if constexpr (kVectors > 3) bd = load(run.bias + 3 * kLanes);
  }
  const V low = set(run.clamp.low), high = set(run.clamp.high);
#define JITNEY_FINISH(p)                                                                        \
  if constexpr (p < kPixels) {                                                                  \
    store(y, at_most(at_least(a##p + ba, low), high));                                          \
    if constexpr (kVectors > 1) store(y + kLanes, at_most(at_least(b##p + bb, low), high));     \
    if constexpr (kVectors > 2) store(y + 2 * kLanes, at_most(at_least(c##p + bc, low), high)); \
    if constexpr (kVectors > 3) store(y + 3 * kLanes, at_most(at_least(d##p + bd, low), high)); \
    y += run.y_stride;                                                                          \
  }
  JITNEY_PIXELS(JITNEY_FINISH)
#undef JITNEY_DECLARE
#undef JITNEY_STEP
#undef JITNEY_FINISH
}
#undef JITNEY_PIXELS

template <std::size_t kPixels, std::size_t kVectors>
void first_tiles(const FirstTiles& given) {
  const FirstTiles run = given;  // a copy that y cannot overlap, so that its fields stay in registers
  constexpr std::ptrdiff_t kStep = kPixels;
  float* y = run.y;
  std::ptrdiff_t offset = run.offset;
  for (std::size_t tile = 0; tile < run.tiles; ++tile, offset += kStep * run.pixel_step, y += kStep * run.y_stride) {
    one_tile<kPixels, kVectors>(run, offset, y);
  }
}

inline V number_load(const float* p) { return load(p); }
inline V number_load(const std::uint8_t* p) { return load_bytes(p); }

/// Three vectors bring the shifts back to where they began.
template <typename T>
void shift_row(const T* from, std::size_t n, const float* shifts, float* to) {
  static_assert(3 * kLanes % kShiftPeriod == 0);
  const V first = load(shifts), second = load(shifts + kLanes % kShiftPeriod), third = load(shifts + 2 * kLanes % kShiftPeriod);
  std::size_t i = 0;
  for (; i + 3 * kLanes <= n; i += 3 * kLanes) {
    store(to + i, number_load(from + i) + first);
    store(to + i + kLanes, number_load(from + i + kLanes) + second);
    store(to + i + 2 * kLanes, number_load(from + i + 2 * kLanes) + third);
  }
  for (std::size_t j = 0; i < n; ++i, j = j + 1 == kShiftPeriod ? 0 : j + 1) to[i] = static_cast<float>(from[i]) + shifts[j];
}

}  // namespace
}  // namespace jitney::kernels
