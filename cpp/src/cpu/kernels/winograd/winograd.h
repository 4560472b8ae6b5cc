// Convolution with 3×3 taps and stride 1 by Winograd's F(4×4, 3×3): 36 products for each tile of 16 results in place of 144.
//
// A tile of 6×6 inputs becomes 36 numbers per channel (Bᵀ·d·B), each of which is multiplied by its own matrix of transformed
// weights (G·g·Gᵀ); 36 sums become 4×4 results (Aᵀ·m·A). Interpolation points are 0, ±1/√2, ±√2 and infinity, whose rounding
// error is half that of 0, ±1, ±2 (see Alam et al., "Winograd convolution for deep neural networks: efficient point selection").
// A tile's results depend on its own inputs alone, so that rows of a batch do not depend on each other.
#pragma once

#include <cstddef>
#include <span>

#include "cpu/kernels/conv/conv.h"

namespace jitney::kernels {

inline constexpr std::ptrdiff_t kWinogradTile = 4;  // results along each axis
inline constexpr std::ptrdiff_t kWinogradInput = kWinogradTile + 2;
inline constexpr std::size_t kWinogradPoints = 36;

/// Bᵀ·d·B for each channel: element e of channel c goes to v[e·point_stride + c]. `pixels` point to the 6×6 inputs.
using WinogradInput = void (*)(const float* const* pixels, std::size_t channels, float* v, std::size_t point_stride);
/// Aᵀ·m·A for each column: result (i, j) of column c goes to y[(4·i + j)·y_stride + c]. `m` has the layout of v.
using WinogradOutput = void (*)(const float* m, std::size_t point_stride, std::size_t columns, float* y, std::size_t y_stride);

struct WinogradKernel {
  const char* name;
  Isa isa;
  std::size_t lanes;
  WinogradInput input;
  WinogradOutput output;
};

std::span<const WinogradKernel* const> winograd_kernels() noexcept;
const WinogradKernel& winograd_kernel(Isa active) noexcept;

/// Whether the method can compute this convolution: two spatial axes, 3×3 taps, stride and dilation 1.
bool winograd_fits(const ConvGeometry& geometry) noexcept;

/// Floats that the packed weights of one group take.
std::size_t packed_winograd_size(const GemmKernel& gemm, std::size_t channels, std::size_t filters) noexcept;
/// Transforms (in double) and packs one group's weights, laid out as for pack_conv.
void pack_winograd(const GemmKernel& gemm, std::size_t channels, std::size_t filters, const float* w,
                   std::ptrdiff_t filter_stride, std::ptrdiff_t channel_stride, const Spatial& tap_stride, float* packed);

/// How the tiles of a batch are cut: block `index` has `rows` tiles (the last may have fewer). Never changes results.
struct WinogradBlocks {
  std::size_t tiles = 0;  // of the whole batch
  std::size_t rows = 1;
  std::size_t columns = 1;  // filters at a time, a multiple of the GEMM kernel's nr
  std::size_t count() const noexcept { return (tiles + rows - 1) / rows; }
};
WinogradBlocks winograd_blocks(const GemmKernel& gemm, const ConvGeometry& geometry, std::size_t channels, std::size_t filters,
                               std::size_t threads) noexcept;
/// Bytes of scratch (64-byte aligned) for any block. One per worker.
std::size_t winograd_scratch(const WinogradBlocks& blocks, std::size_t channels) noexcept;
/// Computes one block of tiles for all filters. `args` is that of conv_tile, its weights packed by pack_winograd.
void winograd_block(const WinogradKernel& kernel, const GemmKernel& gemm, const ConvArgs& args, const WinogradBlocks& blocks,
                    std::size_t index, void* scratch) noexcept;

}  // namespace jitney::kernels
