// The general depthwise kernel, written once for whichever V was included before: four pixels share each load of weights.
// Included by f32_dwconv_*.cpp only.
#pragma once

#include "cpu/kernels/dwconv/dwconv.h"

namespace jitney::kernels {
namespace {

/// Calls visit(input, weights) for each tap.
template <typename Visit>
inline void for_each_tap(const DwRun& run, const float* x, const float* w, Visit visit) {
  for (std::ptrdiff_t d = 0; d < run.taps[0]; ++d, x += run.tap_stride[0], w += run.w_depth_stride) {
    const float* row = x;
    const float* weights = w;
    for (std::ptrdiff_t i = 0; i < run.taps[1]; ++i, row += run.tap_stride[1], weights += run.w_row_stride) {
      for (std::ptrdiff_t j = 0; j < run.taps[2]; ++j) visit(row + j * run.tap_stride[2], weights + j * kLaneStride);
    }
  }
}

template <typename Part>
inline void finish(const DwRun& run, V sum, std::size_t c, float* y, Part part) {
  if (run.bias != nullptr) sum = sum + part.load(run.bias + c);
  part.store(y + c, clip(sum, set(run.clamp.low), set(run.clamp.high)));
}

/// Four loads of input for each of weights.
void four_pixels(const DwRun& given, const float* x, float* y) {
  const DwRun run = given;  // a copy that y cannot overlap, so that its fields stay in registers
  const float* w = run.w;
  const std::ptrdiff_t step = run.pixel_step;
  for_each_vector(run.channels, [&](std::size_t c, auto part) {
    V sum0 = zero(), sum1 = zero(), sum2 = zero(), sum3 = zero();
    for_each_tap(run, x + c, w, [&](const float* input, const float* weights) {
      const V weight = load(weights);
      sum0 = fma(part.load(input), weight, sum0);
      sum1 = fma(part.load(input + step), weight, sum1);
      sum2 = fma(part.load(input + 2 * step), weight, sum2);
      sum3 = fma(part.load(input + 3 * step), weight, sum3);
    });
    w += run.w_vector_stride;
    finish(run, sum0, c, y, part);
    finish(run, sum1, c, y + run.y_stride, part);
    finish(run, sum2, c, y + 2 * run.y_stride, part);
    finish(run, sum3, c, y + 3 * run.y_stride, part);
  });
}

/// Four vectors of channels at once keep as many chains in flight as four pixels.
void one_pixel(const DwRun& given, const float* x, float* y) {
  const DwRun run = given;
  const float* w = run.w;
  const std::ptrdiff_t next = run.w_vector_stride;
  std::size_t c = 0;
  for (; c + 4 * kLanes <= run.channels; c += 4 * kLanes, w += 4 * next) {
    V sum0 = zero(), sum1 = zero(), sum2 = zero(), sum3 = zero();
    for_each_tap(run, x + c, w, [&](const float* input, const float* weights) {
      sum0 = fma(load(input), load(weights), sum0);
      sum1 = fma(load(input + kLanes), load(weights + next), sum1);
      sum2 = fma(load(input + 2 * kLanes), load(weights + 2 * next), sum2);
      sum3 = fma(load(input + 3 * kLanes), load(weights + 3 * next), sum3);
    });
    finish(run, sum0, c, y, WholeVector{});
    finish(run, sum1, c + kLanes, y, WholeVector{});
    finish(run, sum2, c + 2 * kLanes, y, WholeVector{});
    finish(run, sum3, c + 3 * kLanes, y, WholeVector{});
  }
  for_each_vector(run.channels - c, [&](std::size_t offset, auto part) {
    V sum = zero();
    for_each_tap(run, x + c + offset, w,
                 [&](const float* input, const float* weights) { sum = fma(part.load(input), load(weights), sum); });
    w += next;
    finish(run, sum, c + offset, y, part);
  });
}

void run_dwconv(const DwRun& run) {
  const float* x = run.x;
  float* y = run.y;
  std::size_t pixel = 0;
  for (; pixel + 4 <= run.pixels; pixel += 4, x += 4 * run.pixel_step, y += 4 * run.y_stride) four_pixels(run, x, y);
  for (; pixel < run.pixels; ++pixel, x += run.pixel_step, y += run.y_stride) one_pixel(run, x, y);
}

}  // namespace
}  // namespace jitney::kernels
