// Depthwise convolution (one filter per channel) in float32 over channels-last input, any kernel size.
//
// Each output is one chain of multiply-adds over the taps that lie inside the image, in ascending order.
#pragma once

#include <cstddef>
#include <span>

#include "base/cpu_features.h"
#include "cpu/kernels/conv/conv.h"

namespace jitney::kernels {

/// A run of output pixels along the width whose taps all lie inside the image, over a range of channels.
struct DwRun {
  const float* x = nullptr;  // first tap of the first pixel
  // Plain arrays: std::array's functions, built with AVX2, would be shared with files that must do without.
  std::ptrdiff_t taps[3] = {1, 1, 1};
  std::ptrdiff_t tap_stride[3] = {0, 0, 0};  // between taps in the input
  std::ptrdiff_t pixel_step = 0;             // between the first taps of neighbouring outputs
  const float* w = nullptr;  // first tap's weights for the first vector of channels; taps along the width are `lanes` apart
  std::ptrdiff_t w_depth_stride = 0;
  std::ptrdiff_t w_row_stride = 0;
  std::ptrdiff_t w_vector_stride = 0;  // between vectors of channels
  std::size_t pixels = 0;
  std::size_t channels = 0;
  float* y = nullptr;
  std::ptrdiff_t y_stride = 0;  // between pixels
  const float* bias = nullptr;  // one per channel, or null
  Clamp clamp = kNoClamp;
};
/// y = clamp(sum + bias).
using DwRunKernel = void (*)(const DwRun& run);

struct DwConvKernel {
  const char* name;
  Isa isa;
  std::size_t lanes;
  DwRunKernel run;
  EpilogueKernel epilogue;
};

std::span<const DwConvKernel* const> dwconv_kernels() noexcept;
const DwConvKernel& dwconv_kernel(Isa active) noexcept;

/// Channels rounded up to whole vectors: packed weights take taps times as many floats.
std::size_t dwconv_padded(const DwConvKernel& kernel, std::size_t channels) noexcept;
/// Packs weights to [vectors of channels][taps][lanes], zeros in the padding.
/// Element (channel, d, h, w) lies at w[channel·channel_stride + d·tap_stride[0] + h·tap_stride[1] + w·tap_stride[2]].
void pack_dwconv(const DwConvKernel& kernel, const Spatial& size, std::size_t channels, const float* w,
                 std::ptrdiff_t channel_stride, const Spatial& tap_stride, float* packed) noexcept;

struct DwConvArgs {
  ConvGeometry geometry;
  std::size_t channels = 0;
  const float* input = nullptr;
  const float* weights = nullptr;
  float* output = nullptr;  // pixel p of the batch at output + p·output_stride
  std::ptrdiff_t output_stride = 0;
  Epilogue epilogue;
};

/// Rows of the grid are output rows (batch·depth·height of them), columns are channels.
TileGrid dwconv_tiles(const DwConvKernel& kernel, const ConvGeometry& geometry, std::size_t channels,
                      std::size_t threads) noexcept;
/// Computes output rows [r0, r1) for channels [c0, c1); c0 must be a multiple of the kernel's lanes.
void dwconv_tile(const DwConvKernel& kernel, const DwConvArgs& args, std::size_t r0, std::size_t r1, std::size_t c0,
                 std::size_t c1) noexcept;

}  // namespace jitney::kernels
