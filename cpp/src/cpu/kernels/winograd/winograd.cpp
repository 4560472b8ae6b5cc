// Winograd convolution: the list of kernels, packing of weights, and the loop over blocks of tiles.
#include "cpu/kernels/winograd/winograd.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/aligned.h"
#include "cpu/kernels/best_kernel.h"

namespace jitney::kernels {

#define JITNEY_WINOGRAD_KERNEL(name, isa, lanes, type) extern const WinogradKernel name;
#include "cpu/kernels/winograd/kernels.inc"
#undef JITNEY_WINOGRAD_KERNEL

namespace {

#define JITNEY_WINOGRAD_KERNEL(name, isa, lanes, type) &name,
constexpr const WinogradKernel* kKernels[] = {
#include "cpu/kernels/winograd/kernels.inc"
};
#undef JITNEY_WINOGRAD_KERNEL

// The transformed inputs of a block are read once for each block of filters, so they should stay in a core's own cache beside
// the sums of one block of filters.
constexpr std::size_t kInputBytes = 512 * 1024;
constexpr std::size_t kSumBytes = 192 * 1024;

/// G: row i holds 1, p, p² over the product of the point's distances to the others; the last is the point at infinity.
constexpr std::array<std::array<double, 3>, 6> weight_matrix() {
  constexpr double kA = std::numbers::sqrt2 / 2, kB = std::numbers::sqrt2;
  return {{{1, 0, 0},
           {-1 / 1.5, -kA / 1.5, -0.5 / 1.5},
           {-1 / 1.5, kA / 1.5, -0.5 / 1.5},
           {1.0 / 6, kB / 6, 2.0 / 6},
           {1.0 / 6, -kB / 6, 2.0 / 6},
           {0, 0, 1}}};
}

/// G·g·Gᵀ of one filter and channel.
std::array<double, kWinogradPoints> transform_taps(const float* g, const Spatial& stride) noexcept {
  constexpr auto kG = weight_matrix();
  std::array<double, kWinogradPoints> u{};
  for (std::size_t i = 0; i < 6; ++i) {
    std::array<double, 3> row{};
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t j = 0; j < 3; ++j)
        row[j] += kG[i][k] * double{g[static_cast<std::ptrdiff_t>(k) * stride[1] + static_cast<std::ptrdiff_t>(j) * stride[2]]};
    for (std::size_t j = 0; j < 6; ++j)
      for (std::size_t k = 0; k < 3; ++k) u[6 * i + j] += row[k] * kG[j][k];
  }
  return u;
}

std::size_t tiles_along(std::ptrdiff_t size) noexcept {
  return static_cast<std::size_t>((size + kWinogradTile - 1) / kWinogradTile);
}

std::size_t round_up(std::size_t a, std::size_t step) noexcept { return (a + step - 1) / step * step; }

/// One tile of the batch: its image and the coordinates of its first result.
struct Tile {
  std::ptrdiff_t image, row, column;
};

Tile tile_at(const ConvGeometry& g, std::size_t index) noexcept {
  const std::size_t across = tiles_along(g.output[2]);
  const std::size_t per_image = tiles_along(g.output[1]) * across;
  const std::size_t within = index % per_image;
  return {static_cast<std::ptrdiff_t>(index / per_image), static_cast<std::ptrdiff_t>(within / across) * kWinogradTile,
          static_cast<std::ptrdiff_t>(within % across) * kWinogradTile};
}

/// Pointers to the tile's inputs; those outside the image point to zeros.
void tile_pixels(const ConvArgs& args, const Tile& tile, std::array<const float*, kWinogradPoints>& pixels) noexcept {
  const ConvGeometry& g = args.geometry;
  const float* image = args.input + tile.image * g.input_batch_stride;
  for (std::ptrdiff_t i = 0; i < kWinogradInput; ++i) {
    const std::ptrdiff_t y = tile.row + i - g.pad_begin[1];
    for (std::ptrdiff_t j = 0; j < kWinogradInput; ++j) {
      const std::ptrdiff_t x = tile.column + j - g.pad_begin[2];
      const bool inside = y >= 0 && y < g.input[1] && x >= 0 && x < g.input[2];
      pixels[static_cast<std::size_t>(i * kWinogradInput + j)] =
          inside ? image + y * g.input_stride[1] + x * g.input_stride[2] : args.zeros;
    }
  }
}

/// Stores the 4×4 results of a tile as far as they lie inside the image, through the epilogue.
void store_tile(const GemmKernel& gemm, const ConvArgs& args, const Tile& tile, std::size_t filter, std::size_t columns,
                const float* results, std::size_t stride) noexcept {
  const ConvGeometry& g = args.geometry;
  const std::ptrdiff_t rows = std::min(kWinogradTile, g.output[1] - tile.row);
  const auto across = static_cast<std::size_t>(std::min(kWinogradTile, g.output[2] - tile.column));
  const auto first = static_cast<std::ptrdiff_t>(filter);
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    const std::ptrdiff_t pixel = (tile.image * g.output[1] + tile.row + i) * g.output[2] + tile.column;
    gemm.epilogue(shifted(args.epilogue, pixel, first), across, columns,
                  results + static_cast<std::size_t>(i * kWinogradTile) * stride, static_cast<std::ptrdiff_t>(stride),
                  args.output + pixel * args.output_stride + first, args.output_stride);
  }
}

}  // namespace

std::span<const WinogradKernel* const> winograd_kernels() noexcept { return kKernels; }

const WinogradKernel& winograd_kernel(Isa active) noexcept { return best_kernel<WinogradKernel>(kKernels, active); }

bool winograd_fits(const ConvGeometry& g) noexcept {
  return g.kernel == Spatial{1, 3, 3} && g.stride == Spatial{1, 1, 1} && g.dilation == Spatial{1, 1, 1} && g.input[0] == 1 &&
         g.output[0] == 1 && g.pad_begin[0] == 0;
}

std::size_t packed_winograd_size(const GemmKernel& gemm, std::size_t channels, std::size_t filters) noexcept {
  return kWinogradPoints * packed_b_size(gemm, channels, filters);
}

void pack_winograd(const GemmKernel& gemm, std::size_t channels, std::size_t filters, const float* w,
                   std::ptrdiff_t filter_stride, std::ptrdiff_t channel_stride, const Spatial& tap_stride, float* packed) {
  // One panel of filters at a time keeps the transformed weights in between small.
  const std::size_t point_size = packed_b_size(gemm, channels, filters);
  std::vector<float> panel(kWinogradPoints * channels * gemm.nr);
  for (std::size_t first = 0; first < filters; first += gemm.nr) {
    const std::size_t used = std::min(gemm.nr, filters - first);
    for (std::size_t f = 0; f < used; ++f) {
      for (std::size_t c = 0; c < channels; ++c) {
        const auto u = transform_taps(
            w + static_cast<std::ptrdiff_t>(first + f) * filter_stride + static_cast<std::ptrdiff_t>(c) * channel_stride,
            tap_stride);
        for (std::size_t e = 0; e < kWinogradPoints; ++e) panel[(e * channels + c) * gemm.nr + f] = static_cast<float>(u[e]);
      }
    }
    for (std::size_t e = 0; e < kWinogradPoints; ++e)
      pack_b(gemm, channels, used, panel.data() + e * channels * gemm.nr, static_cast<std::ptrdiff_t>(gemm.nr), 1,
             packed + e * point_size + first * channels);
  }
}

WinogradBlocks winograd_blocks(const GemmKernel& gemm, const ConvGeometry& geometry, std::size_t channels, std::size_t filters,
                               std::size_t threads) noexcept {
  WinogradBlocks blocks;
  blocks.tiles = static_cast<std::size_t>(geometry.batch) * tiles_along(geometry.output[1]) * tiles_along(geometry.output[2]);
  const std::size_t row_bytes = kWinogradPoints * std::max<std::size_t>(1, channels) * sizeof(float);
  const std::size_t most = std::max(gemm.mr, kInputBytes / row_bytes);
  const std::size_t fewest = std::max<std::size_t>(1, (blocks.tiles + most - 1) / most);
  // The number of blocks for which the busiest thread has the fewest register tiles to compute.
  std::size_t best = SIZE_MAX;
  for (std::size_t count = fewest; count < fewest + 2 * threads; ++count) {
    const std::size_t rows = std::max<std::size_t>(1, (blocks.tiles + count - 1) / count);
    const std::size_t rounds = (count + threads - 1) / threads;
    const std::size_t cost = rounds * RowGroups(rows, gemm.mr).count;
    if (cost >= best) continue;
    best = cost;
    blocks.rows = rows;
  }
  const std::size_t column_bytes = kWinogradPoints * blocks.rows * sizeof(float);
  const std::size_t fitting = std::max<std::size_t>(1, kSumBytes / column_bytes / gemm.nr) * gemm.nr;
  blocks.columns = std::min(fitting, round_up(std::max<std::size_t>(1, filters), gemm.nr));
  return blocks;
}

std::size_t winograd_scratch(const WinogradBlocks& blocks, std::size_t channels) noexcept {
  const std::size_t inputs = align_up(kWinogradPoints * blocks.rows * channels * sizeof(float));
  const std::size_t sums = align_up(kWinogradPoints * blocks.rows * blocks.columns * sizeof(float));
  return inputs + sums + align_up(16 * blocks.columns * sizeof(float));
}

void winograd_block(const WinogradKernel& kernel, const GemmKernel& gemm, const ConvArgs& args, const WinogradBlocks& blocks,
                    std::size_t index, void* scratch) noexcept {
  const std::size_t first = index * blocks.rows;
  const std::size_t rows = std::min(blocks.rows, blocks.tiles - first);
  auto* bytes = static_cast<std::byte*>(scratch);
  auto* v = reinterpret_cast<float*>(bytes);
  bytes += align_up(kWinogradPoints * blocks.rows * args.channels * sizeof(float));
  auto* m = reinterpret_cast<float*>(bytes);
  bytes += align_up(kWinogradPoints * blocks.rows * blocks.columns * sizeof(float));
  auto* results = reinterpret_cast<float*>(bytes);

  std::array<const float*, kWinogradPoints> pixels;
  for (std::size_t row = 0; row < rows; ++row) {
    tile_pixels(args, tile_at(args.geometry, first + row), pixels);
    kernel.input(pixels.data(), args.channels, v + row * args.channels, rows * args.channels);
  }
  const std::size_t point_size = packed_b_size(gemm, args.channels, args.filters);
  for (std::size_t filter = 0; filter < args.filters; filter += blocks.columns) {
    const std::size_t columns = std::min(blocks.columns, args.filters - filter);
    for (std::size_t e = 0; e < kWinogradPoints; ++e) {
      GemmArgs product;
      product.m = rows;
      product.n = columns;
      product.k = args.channels;
      product.a = v + e * rows * args.channels;
      product.lda = static_cast<std::ptrdiff_t>(args.channels);
      product.b = args.weights + e * point_size + filter * args.channels;
      product.c = m + e * rows * columns;
      product.ldc = static_cast<std::ptrdiff_t>(columns);
      gemm_tile(gemm, product, 0, rows, 0, columns);
    }
    for (std::size_t row = 0; row < rows; ++row) {
      kernel.output(m + row * columns, rows * columns, columns, results, columns);
      store_tile(gemm, args, tile_at(args.geometry, first + row), filter, columns, results, columns);
    }
  }
}

}  // namespace jitney::kernels
