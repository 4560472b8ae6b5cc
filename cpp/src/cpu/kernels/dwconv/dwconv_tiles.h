// The two ways to compute a tile of a depthwise convolution, and what they share. Private to the family.
#pragma once

#include <algorithm>

#include "cpu/kernels/dwconv/dwconv.h"

namespace jitney::kernels {

/// The taps along one axis that lie inside the image, for the output at `position`.
struct TapRange {
  std::ptrdiff_t first;  // tap
  std::ptrdiff_t count;
  std::ptrdiff_t input;  // input coordinate of the first tap
};

inline TapRange taps_inside(const ConvGeometry& g, std::size_t axis, std::ptrdiff_t position) noexcept {
  const std::ptrdiff_t start = position * g.stride[axis] - g.pad_begin[axis];
  const std::ptrdiff_t step = g.dilation[axis];
  const std::ptrdiff_t first = start >= 0 ? 0 : (-start + step - 1) / step;
  const std::ptrdiff_t room = g.input[axis] - start;
  const std::ptrdiff_t end = std::min(g.kernel[axis], room <= 0 ? 0 : (room + step - 1) / step);
  if (end <= first) return {0, 0, 0};
  return {first, end - first, start + first * step};
}

/// Output rows [r0, r1) for channels [c0, c1): see dwconv_tile.
using DwTile = void(const DwConvKernel& kernel, const DwConvArgs& args, std::size_t r0, std::size_t r1, std::size_t c0,
                    std::size_t c1) noexcept;
DwTile slide_tile;
DwTile run_tile;

}  // namespace jitney::kernels
