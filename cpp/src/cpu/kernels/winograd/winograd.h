// Convolution with 3×3 taps and stride 1 by Winograd's F(m×m, 3×3): (m+2)² products for each tile of m×m results in place of
// 9·m².
//
// A tile of (m+2)² inputs becomes as many numbers per channel (Bᵀ·d·B), the *points*; each is multiplied by a matrix of
// transformed weights (G·g·Gᵀ), and the sums become m×m results (Aᵀ·s·A). For m = 4 the interpolation points are 0, ±1/√2, ±√2
// and infinity, whose rounding error is half that of 0, ±1, ±2 (see Alam et al., "Winograd convolution for deep neural networks:
// efficient point selection"). G is taken without the division by the points' distances, which stands in Aᵀ.
//
// Transformed weights take up to four times the bytes of the taps, so they are not kept unless that is asked for: the weights are
// packed as for conv_tile, and each panel of nr filters is transformed, a block of channels at a time, when it is needed, for
// many tiles at once.
//
// A tile's results depend on its own inputs alone, and the blocks of channels on nothing but the number of channels: rows of a
// batch do not depend on each other, nor on how the caller cuts the work.
#pragma once

#include <cstddef>
#include <span>

#include "cpu/kernels/conv/conv.h"

namespace jitney::kernels {

inline constexpr std::size_t kMostWinogradPoints = 36;

/// Bᵀ·d·B for each channel: point e of the n-th vector of channels goes to v[e·point_stride + n·vector_stride]. `pixels` point to
/// the inputs, row by row. What a vector has beyond the last channel becomes zeros, or is left where vectors lie side by side.
using WinogradInput = void (*)(const float* const* pixels, std::size_t channels, float* v, std::size_t point_stride,
                               std::size_t vector_stride);
/// G·g·Gᵀ for each of `count` pairs of channel and filter, a multiple of the lanes: tap t of pair i lies at w[t·tap_stride + i],
/// point e goes to u[e·point_stride + i].
using WinogradWeights = void (*)(const float* w, std::size_t tap_stride, std::size_t count, float* u, std::size_t point_stride);

/// The part of a tile's results that lies inside the image, and what becomes of it: y = clamp(result + bias + residual).
struct WinogradTileOutput {
  const float* sums = nullptr;  // of point e and column c: sums[e·point_stride + c]
  std::size_t point_stride = 0;
  std::size_t rows = 0, across = 0, columns = 0;
  float* y = nullptr;
  std::ptrdiff_t row_stride = 0, pixel_stride = 0;  // of y
  const float* bias = nullptr;                      // `columns` numbers, or null
  const float* residual = nullptr;                  // or null
  std::ptrdiff_t residual_row_stride = 0, residual_pixel_stride = 0;
  Clamp clamp = kNoClamp;
};
using WinogradOutput = void (*)(const WinogradTileOutput& tile);

struct WinogradKernel {
  const char* name;
  Isa isa;
  std::size_t lanes;
  std::ptrdiff_t tile;  // results along each axis
  WinogradInput input;
  WinogradWeights weights;
  WinogradOutput output;

  std::ptrdiff_t reach() const noexcept { return tile + 2; }  // inputs along each axis
  std::size_t points() const noexcept { return static_cast<std::size_t>(reach() * reach()); }
};

std::span<const WinogradKernel* const> winograd_kernels() noexcept;
/// The best one with tiles of that size that may run at this level.
const WinogradKernel& winograd_kernel(Isa active, std::ptrdiff_t tile) noexcept;

/// Whether the method can compute this convolution: two spatial axes, 3×3 taps, stride and dilation 1.
bool winograd_fits(const ConvGeometry& geometry) noexcept;

/// The method on one group of a convolution.
struct Winograd {
  const WinogradKernel* kernel = nullptr;
  const GemmKernel* gemm = nullptr;
  ConvGeometry geometry;
  std::size_t channels = 0, filters = 0;
  bool kept = false;  // ConvArgs::weights are transformed ones, from winograd_pack

  std::size_t tiles() const noexcept;  // of the whole batch
  /// Floats of the transformed inputs of so many tiles, if they are multiplied together.
  std::size_t input_floats(std::size_t tiles) const noexcept;
  /// Floats of the transformed weights.
  std::size_t weight_floats() const noexcept;
  /// Channels that are transformed and multiplied at a time.
  std::size_t channel_block() const noexcept;
  /// Bytes of scratch (64-byte aligned) for winograd_results of so many tiles. One per worker.
  std::size_t scratch(std::size_t tiles) const noexcept;
};

/// How many tiles to take at a time where the whole batch's transformed inputs are too large for the caches.
std::size_t winograd_block(const Winograd& method, std::size_t threads) noexcept;

/// Transforms weights to be kept.
void winograd_pack(const Winograd& method, const FilterWeights& w, float* packed);

/// Tiles [first, last), which are multiplied together, and the place of their transformed inputs.
struct WinogradTiles {
  std::size_t first, last;
  float* inputs;
};
/// Transforms the inputs of some of the tiles, [first, last). `args` is that of conv_tile.
void winograd_inputs(const Winograd& method, const ConvArgs& args, const WinogradTiles& tiles, std::size_t first,
                     std::size_t last) noexcept;
/// Computes the tiles' results for filters [f0, f1); f0 must be a multiple of the GEMM kernel's nr.
void winograd_results(const Winograd& method, const ConvArgs& args, const WinogradTiles& tiles, std::size_t f0, std::size_t f1,
                      void* scratch) noexcept;

}  // namespace jitney::kernels
