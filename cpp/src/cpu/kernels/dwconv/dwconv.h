// Depthwise convolution (one filter per channel) in float32 over channels-last input, any kernel size: the
// common ones slide along rows, others go tap by tap.
//
// Each output is one chain of multiply-adds over the taps that lie inside the image, in an order that the geometry decides.
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

/// Whole output rows, one or two at a time, along which the kernel slides. Both rows have the same number of rows of taps.
struct DwSlide {
  std::size_t columns = 3;             // taps along the width: 3, 5 or 7
  std::size_t step = 1;                // columns between outputs: 1, or 2 if there are no 7 taps
  std::size_t row_count = 1;           // output rows: 1 or 2
  const float* const* rows = nullptr;  // row of taps i of output row r lies at rows[r·jump + i], a pointer to column 0
  std::size_t jump = 0;
  std::size_t taps = 0;      // rows of taps that lie inside the image
  std::ptrdiff_t pixel = 0;  // floats between columns
  std::ptrdiff_t first = 0;  // the column under the first tap of the first output; those outside the image are passed over
  std::ptrdiff_t width = 0;  // columns of the image
  const float* w = nullptr;  // weights of the first row of taps for the first vector of channels, [taps][columns][lanes]
  std::ptrdiff_t w_vector_stride = 0;
  std::size_t outputs = 0;  // per row
  std::size_t channels = 0;
  float* y = nullptr;
  std::ptrdiff_t y_stride = 0;      // between pixels
  std::ptrdiff_t y_row_stride = 0;  // between output rows
  const float* bias = nullptr;
  Clamp clamp = kNoClamp;
};
/// y = clamp(sum + bias).
using DwSlideKernel = void (*)(const DwSlide& run);

struct DwConvKernel {
  const char* name;
  Isa isa;
  std::size_t lanes;
  DwSlideKernel slide;
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
  // If given: row h of the only image lies at input_rows[h], whatever input and the stride of rows. For kernels that slide.
  const float* const* input_rows = nullptr;
  const float* weights = nullptr;
  float* output = nullptr;  // pixel p of the batch at output + p·output_stride
  std::ptrdiff_t output_stride = 0;
  Epilogue epilogue;
};

/// Whether the kernel slides along the rows of this geometry; if not it runs tap by tap.
bool dwconv_slides(const ConvGeometry& geometry) noexcept;

/// Rows of the grid are output rows (batch·depth·height of them), columns are channels.
TileGrid dwconv_tiles(const DwConvKernel& kernel, const ConvGeometry& geometry, std::size_t channels,
                      std::size_t threads) noexcept;
/// Computes output rows [r0, r1) for channels [c0, c1); c0 must be a multiple of the kernel's lanes.
void dwconv_tile(const DwConvKernel& kernel, const DwConvArgs& args, std::size_t r0, std::size_t r1, std::size_t c0,
                 std::size_t c1) noexcept;

}  // namespace jitney::kernels
