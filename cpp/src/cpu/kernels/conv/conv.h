// Convolution in float32 over channels-last input: a matrix product whose rows are lists of pointers into the image (indirect
// GEMM).
//
// An output pixel is a row; its taps run over the kernel's positions (depth, height, width) and, within a tap, over the input
// channels: that is the order of every chain of multiply-adds. Taps outside the image point to a row of zeros.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/cpu_features.h"
#include "cpu/kernels/gemm/gemm.h"

namespace jitney::kernels {

/// Three spatial axes (depth, height, width); unused ones, the first, have size 1, stride 1, dilation 1 and no padding.
using Spatial = std::array<std::ptrdiff_t, 3>;

/// Where the taps of each output pixel lie. Sizes are ≥ 0, kernel, stride and dilation ≥ 1; strides of memory are in elements.
struct ConvGeometry {
  std::ptrdiff_t batch = 1;
  Spatial input{1, 1, 1};
  Spatial output{1, 1, 1};
  Spatial kernel{1, 1, 1};
  Spatial stride{1, 1, 1};
  Spatial dilation{1, 1, 1};
  Spatial pad_begin{0, 0, 0};  // may be negative (cropping)
  Spatial input_stride{0, 0, 0};
  std::ptrdiff_t input_batch_stride = 0;

  std::size_t taps() const noexcept { return static_cast<std::size_t>(kernel[0] * kernel[1] * kernel[2]); }
  /// Output pixels over the whole batch.
  std::size_t pixels() const noexcept { return static_cast<std::size_t>(batch * output[0] * output[1] * output[2]); }
};

struct ConvKernel {
  const char* name;
  const GemmKernel* gemm;
};

std::span<const ConvKernel> conv_kernels() noexcept;
const ConvKernel& conv_kernel(Isa active, Core core = active_core()) noexcept;

/// Floats that the packed weights of one group take.
std::size_t packed_conv_size(const ConvKernel& kernel, std::size_t taps, std::size_t channels, std::size_t filters) noexcept;
/// Weights as they come: element (filter, channel, d, h, w) lies at data[filter·filter_stride + channel·channel_stride +
/// d·tap_stride[0] + h·tap_stride[1] + w·tap_stride[2]].
struct FilterWeights {
  const float* data;
  std::ptrdiff_t filter_stride, channel_stride;
  Spatial tap_stride;

  /// Those of the filters from this one on.
  FilterWeights from(std::size_t filter) const noexcept {
    return {data + static_cast<std::ptrdiff_t>(filter) * filter_stride, filter_stride, channel_stride, tap_stride};
  }
};
/// Packs the first `used` filters side by side, tap by tap and channel by channel, with zeros up to `width`; returns where they
/// end.
float* pack_filters(const FilterWeights& w, const Spatial& size, std::size_t channels, std::size_t used, std::size_t width,
                    float* packed) noexcept;
/// Packs one group's weights.
void pack_conv(const ConvKernel& kernel, const Spatial& size, std::size_t channels, std::size_t filters, const FilterWeights& w,
               float* packed) noexcept;

/// One group of a convolution (one call per group, with shifted pointers; group = 1 is the whole).
struct ConvArgs {
  ConvGeometry geometry;
  std::size_t channels = 0;      // input channels of this group, contiguous
  std::size_t filters = 0;       // output channels of this group, contiguous
  const float* input = nullptr;  // first channel of this group at pixel (0,0,0) of image 0
  const float* zeros = nullptr;  // at least `channels` zeros
  const float* weights = nullptr;
  float* output = nullptr;  // pixel p of the batch at output + p·output_stride
  std::ptrdiff_t output_stride = 0;
  Epilogue epilogue;
  std::size_t tile_rows = 0;  // the grid's row_step, for which scratch is there; 0: less scratch, and rows are not copied
};

/// Rows of the grid are output pixels, columns are filters.
TileGrid conv_tiles(const ConvKernel& kernel, const ConvGeometry& geometry, std::size_t channels, std::size_t filters,
                    std::size_t threads) noexcept;
/// Bytes of scratch (8-byte aligned) that conv_tile needs for any tile of this grid. One per worker.
std::size_t conv_scratch(const ConvKernel& kernel, const ConvGeometry& geometry, std::size_t channels,
                         const TileGrid& grid) noexcept;
/// Computes output pixels [p0, p1) for filters [f0, f1); f0 must be a multiple of the kernel's nr.
void conv_tile(const ConvKernel& kernel, const ConvArgs& args, std::size_t p0, std::size_t p1, std::size_t f0, std::size_t f1,
               void* scratch) noexcept;

}  // namespace jitney::kernels
