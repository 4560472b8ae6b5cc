// Depthwise convolution: the list of kernels, packing, and the cut for threads.
#include "cpu/kernels/dwconv/dwconv.h"

#include <algorithm>

#include "cpu/kernels/best_kernel.h"
#include "cpu/kernels/dwconv/dwconv_tiles.h"

namespace jitney::kernels {

#define JITNEY_DWCONV_KERNEL(name, isa, lanes, pixels, type) extern const DwConvKernel name;
#include "cpu/kernels/dwconv/kernels.inc"
#undef JITNEY_DWCONV_KERNEL

namespace {

#define JITNEY_DWCONV_KERNEL(name, isa, lanes, pixels, type) &name,
constexpr const DwConvKernel* kKernels[] = {
#include "cpu/kernels/dwconv/kernels.inc"
};
#undef JITNEY_DWCONV_KERNEL

}  // namespace

std::span<const DwConvKernel* const> dwconv_kernels() noexcept { return kKernels; }

const DwConvKernel& dwconv_kernel(Isa active) noexcept { return best_kernel<DwConvKernel>(kKernels, active); }

std::size_t dwconv_padded(const DwConvKernel& kernel, std::size_t channels) noexcept {
  return (channels + kernel.lanes - 1) / kernel.lanes * kernel.lanes;
}

void pack_dwconv(const DwConvKernel& kernel, const Spatial& size, std::size_t channels, const float* w,
                 std::ptrdiff_t channel_stride, const Spatial& tap_stride, float* packed) noexcept {
  for (std::size_t c = 0; c < channels; c += kernel.lanes) {
    const std::size_t used = std::min(kernel.lanes, channels - c);
    const float* first = w + static_cast<std::ptrdiff_t>(c) * channel_stride;
    for (std::ptrdiff_t i = 0; i < size[0]; ++i) {
      for (std::ptrdiff_t j = 0; j < size[1]; ++j) {
        for (std::ptrdiff_t k = 0; k < size[2]; ++k) {
          const float* tap = first + i * tap_stride[0] + j * tap_stride[1] + k * tap_stride[2];
          for (std::size_t lane = 0; lane < used; ++lane) *packed++ = tap[static_cast<std::ptrdiff_t>(lane) * channel_stride];
          packed = std::fill_n(packed, kernel.lanes - used, 0.0f);
        }
      }
    }
  }
}

TileGrid dwconv_tiles(const DwConvKernel& kernel, const ConvGeometry& geometry, std::size_t channels,
                      std::size_t threads) noexcept {
  constexpr std::size_t kTilesPerThread = 4;
  constexpr std::size_t kLeastChannels = 64;
  constexpr std::size_t kLeastWork = 16 * 1024;  // multiply-adds worth a tile of its own
  TileGrid grid;
  grid.rows = static_cast<std::size_t>(geometry.batch * geometry.output[0] * geometry.output[1]);
  grid.columns = channels;
  grid.row_step = std::max<std::size_t>(1, grid.rows);
  grid.column_step = std::max<std::size_t>(1, channels);
  grid.column_major = false;
  if (threads <= 1 || grid.count() == 0) return grid;
  const std::size_t work = geometry.pixels() * geometry.taps() * channels;
  const std::size_t wanted = std::min(threads * kTilesPerThread, work / kLeastWork + 1);
  // Pairs of rows share their inputs.
  grid.row_step = std::max(std::min<std::size_t>(2, grid.rows), grid.rows / wanted);
  if (grid.count() < wanted) {
    const std::size_t cuts = (wanted + grid.row_tiles() - 1) / grid.row_tiles();
    const std::size_t step = std::max(kLeastChannels, (channels + cuts - 1) / cuts);
    grid.column_step = (step + kernel.lanes - 1) / kernel.lanes * kernel.lanes;
  }
  return grid;
}

void dwconv_tile(const DwConvKernel& kernel, const DwConvArgs& args, std::size_t r0, std::size_t r1, std::size_t c0,
                 std::size_t c1) noexcept {
  if (r0 == r1 || c0 == c1) return;
  (dwconv_slides(args.geometry) ? slide_tile : run_tile)(kernel, args, r0, r1, c0, c1);
}

}  // namespace jitney::kernels
