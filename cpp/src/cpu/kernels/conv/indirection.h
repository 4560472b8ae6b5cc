// The pointer table of a convolution: for each output pixel and tap, where the tap's input lies.
#pragma once

#include <cstddef>

#include "cpu/kernels/conv/conv.h"

namespace jitney::kernels {

/// How the taps of a pixel are read. Where the pixels of an image row lie side by side and are short, the taps along the width
/// are one run of memory: fewer, longer runs for the same products in the same order.
struct TapRuns {
  std::size_t runs = 0;    // per output pixel
  std::size_t length = 0;  // floats per run
  bool merged = false;     // one run per (depth, height) tap
};
TapRuns tap_runs(const ConvGeometry& geometry, std::size_t channels) noexcept;

/// Bytes that fill_indirection may use for `pixels` output pixels.
std::size_t indirection_bytes(const TapRuns& taps, std::size_t pixels, std::size_t mr) noexcept;

/// Fills `scratch` for output pixels [p0, p1) and returns the table: for each group of RowGroups, runs · mr pointers,
/// the pixel's index running fastest. Groups of fewer than mr pixels are filled up with their last.
const float* const* fill_indirection(const ConvGeometry& geometry, const TapRuns& taps, std::size_t channels, const float* input,
                                     const float* zeros, std::size_t p0, std::size_t p1, std::size_t mr, void* scratch) noexcept;

}  // namespace jitney::kernels
