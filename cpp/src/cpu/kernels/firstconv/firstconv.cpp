// First-layer convolution: kernels, packing, the ring of scratch rows, and cutting the output into tiles.
#include "cpu/kernels/firstconv/firstconv.h"

#include <algorithm>
#include <optional>

#include "cpu/kernels/firstconv/ring.h"

namespace jitney::kernels {

#define JITNEY_FIRSTCONV_KERNEL(name, isa, pixels, filters, type) extern const FirstConvKernel name;
#include "cpu/kernels/firstconv/kernels.inc"
#undef JITNEY_FIRSTCONV_KERNEL

namespace {

#define JITNEY_FIRSTCONV_KERNEL(name, isa, pixels, filters, type) &name,
constexpr const FirstConvKernel* kKernels[] = {
#include "cpu/kernels/firstconv/kernels.inc"
};
#undef JITNEY_FIRSTCONV_KERNEL

// The ring and the weights of a block are read again and again, while results stream through the first-level cache.
constexpr std::size_t kRingBytes = 20 * 1024;
constexpr std::size_t kMostRingBytes = 128 * 1024;
constexpr std::size_t kMostWeightBytes = 256 * 1024;
constexpr std::size_t kLeastPixels = 24;  // along the width, where there are as many
constexpr std::size_t kTilesAtOnce = 4;
constexpr std::size_t kSums = 2048;  // floats that wait for an epilogue which is no clamp; at least one tile

/// Filters in blocks of nearly equal numbers of vectors.
struct Blocks {
  Blocks(const FirstConvKernel& kernel, std::size_t filters) noexcept
      : lanes(kernel.lanes),
        vectors((filters + lanes - 1) / lanes),
        count((vectors + kernel.most_vectors - 1) / kernel.most_vectors) {}
  /// Vectors in that block.
  std::size_t size(std::size_t block) const noexcept { return vectors / count + (block < vectors % count ? 1 : 0); }

  std::size_t lanes, vectors, count;
};

/// The most pixels in a tile of any block.
std::size_t widest_tile(const FirstConvKernel& kernel) noexcept {
  return *std::max_element(kernel.pixels, kernel.pixels + kMostFirstVectors);
}

/// The block's filters at the pixels of one output row: whole tiles at once where the epilogue is a clamp, or else by way of
/// raw sums.
struct RowOfTiles {
  const FirstConvKernel& kernel;
  const FirstConvArgs& args;
  std::optional<Clamp> clamp;  // of an epilogue without residual
  Ring& ring;
  std::size_t lines;  // to fetch after each few tiles

  void run(FirstTiles tiles, std::size_t vectors, std::size_t filter, std::size_t used, std::size_t first_pixel,
           std::size_t count) const noexcept {
    const std::size_t per_tile = kernel.pixels[vectors - 1];
    const FirstTilesKernel compute = kernel.tiles[vectors - 1];
    const auto pixel = static_cast<std::ptrdiff_t>(first_pixel), column = static_cast<std::ptrdiff_t>(filter);
    float* y = args.output + pixel * args.output_stride + column;
    std::size_t done = 0;
    if (clamp && used == vectors * kernel.lanes) {
      FirstTiles whole = tiles;
      whole.y_stride = args.output_stride;
      whole.bias = args.epilogue.bias == nullptr ? nullptr : args.epilogue.bias + filter;
      whole.clamp = *clamp;
      for (std::size_t left = count / per_tile; left > 0; left -= whole.tiles) {
        whole.tiles = std::min(left, kTilesAtOnce);
        whole.offset = static_cast<std::ptrdiff_t>(done) * tiles.pixel_step;
        whole.y = y + static_cast<std::ptrdiff_t>(done) * args.output_stride;
        compute(whole);
        ring.fetch(lines);
        done += whole.tiles * per_tile;
      }
    }
    alignas(64) float sums[kSums];
    const std::size_t width = vectors * kernel.lanes, most = std::min(kTilesAtOnce, kSums / width / per_tile);
    FirstTiles raw = tiles;
    raw.y = sums;
    raw.y_stride = static_cast<std::ptrdiff_t>(width);
    raw.bias = nullptr;
    raw.clamp = kNoClamp;
    while (done < count) {
      const auto at = static_cast<std::ptrdiff_t>(done);
      raw.offset = at * tiles.pixel_step;
      raw.tiles = std::min(most, (count - done + per_tile - 1) / per_tile);
      const std::size_t pixels = std::min(count - done, raw.tiles * per_tile);
      compute(raw);
      kernel.epilogue(shifted(args.epilogue, pixel + at, column), pixels, used, sums, raw.y_stride, y + at * args.output_stride,
                      args.output_stride);
      ring.fetch(lines);
      done += pixels;
    }
  }
};

}  // namespace

std::span<const FirstConvKernel* const> firstconv_kernels() noexcept { return kKernels; }

const FirstConvKernel& firstconv_kernel(Isa active, std::size_t filters) noexcept {
  const auto padded = [&](const FirstConvKernel& kernel) { return Blocks(kernel, filters).vectors * kernel.lanes; };
  const FirstConvKernel* best = kKernels[0];
  for (const FirstConvKernel* kernel : kKernels) {
    const bool wasteful = best != kKernels[0] && padded(*kernel) > padded(*best);
    if (includes(active, kernel->isa) && !wasteful) best = kernel;
  }
  return *best;
}

std::size_t packed_firstconv_size(const FirstConvKernel& kernel, std::size_t taps, std::size_t channels,
                                  std::size_t filters) noexcept {
  return taps * channels * Blocks(kernel, filters).vectors * kernel.lanes;
}

void pack_firstconv(const FirstConvKernel& kernel, const Spatial& size, std::size_t channels, std::size_t filters,
                    const FilterWeights& w, float* packed) noexcept {
  const Blocks blocks(kernel, filters);
  for (std::size_t block = 0, f = 0; block < blocks.count; ++block) {
    const std::size_t width = blocks.size(block) * kernel.lanes;
    const std::size_t used = std::min(width, filters - f);
    packed = pack_filters(w.from(f), size, channels, used, width, packed);
    f += used;
  }
}

bool firstconv_fits(const ConvGeometry& g, std::size_t channels, std::size_t filters) noexcept {
  if (channels == 0 || channels > kMostFirstChannels || filters == 0) return false;
  const std::size_t pixels = std::min(kLeastPixels, static_cast<std::size_t>(g.output[2]));
  return g.taps() * channels * filters * sizeof(float) <= kMostWeightBytes && ring_bytes(g, channels, pixels) <= kMostRingBytes;
}

TileGrid firstconv_tiles(const FirstConvKernel& kernel, const ConvGeometry& g, std::size_t channels, std::size_t filters,
                         std::size_t threads) noexcept {
  constexpr std::size_t kTilesPerThread = 4;
  constexpr std::size_t kLeastWork = 32 * 1024;  // multiply-adds worth a tile of its own
  const std::size_t widest = widest_tile(kernel);
  TileGrid grid;
  grid.rows = static_cast<std::size_t>(g.batch * g.output[0] * g.output[1]);
  grid.columns = static_cast<std::size_t>(g.output[2]);
  grid.row_step = std::max<std::size_t>(1, grid.rows);
  grid.column_step = std::max<std::size_t>(1, grid.columns);
  grid.column_major = true;
  // Cuts at whole tiles: the last tile of a run is as dear as any.
  const std::size_t tile = kernel.pixels[Blocks(kernel, filters).size(0) - 1];
  const auto halve = [&] { grid.column_step = ((grid.column_step + 1) / 2 + tile - 1) / tile * tile; };
  while (grid.column_step > kLeastPixels && ring_bytes(g, channels, grid.column_step + widest) > kRingBytes) halve();
  if (threads <= 1 || grid.count() == 0) return grid;
  const std::size_t work = g.pixels() * g.taps() * channels * filters;
  const std::size_t wanted = std::min(threads * kTilesPerThread, work / kLeastWork + 1);
  if (grid.count() < wanted) {
    const std::size_t cuts = (wanted + grid.column_tiles() - 1) / grid.column_tiles();
    grid.row_step = std::max<std::size_t>(1, (grid.rows + cuts - 1) / cuts);
  }
  while (grid.count() < wanted && grid.column_step > 2 * kLeastPixels) halve();
  return grid;
}

std::size_t firstconv_scratch(const FirstConvKernel& kernel, const ConvGeometry& g, std::size_t channels,
                              const TileGrid& grid) noexcept {
  return ring_bytes(g, channels, grid.column_step + widest_tile(kernel)) + g.taps() * channels * sizeof(const float*);
}

void firstconv_tile(const FirstConvKernel& kernel, const FirstConvArgs& args, std::size_t r0, std::size_t r1, std::size_t x0,
                    std::size_t x1, void* scratch) noexcept {
  if (r0 >= r1 || x0 >= x1) return;
  const ConvGeometry& g = args.geometry;
  const std::size_t k = g.taps() * args.channels;
  const float** taps = static_cast<const float**>(scratch);
  Ring ring(kernel, args, x0, x1 - x0 + widest_tile(kernel), reinterpret_cast<float*>(taps + k));
  const Blocks blocks(kernel, args.filters);
  RowOfTiles row{kernel, args, args.epilogue.residual == nullptr ? as_clamp(args.epilogue) : std::nullopt, ring, 0};
  const std::size_t at_once = kTilesAtOnce * kernel.pixels[blocks.size(0) - 1];
  const std::size_t pieces = blocks.count * ((x1 - x0 + at_once - 1) / at_once);
  FirstTiles tiles;
  tiles.taps = taps;
  tiles.k = k;
  tiles.pixel_step = g.stride[2] * ring.column_step();
  for (std::size_t r = r0; r < r1; ++r) {
    ring.see(static_cast<std::ptrdiff_t>(r), taps);
    row.lines = (ring.lines() + pieces - 1) / pieces;
    tiles.w = args.weights;
    for (std::size_t block = 0, filter = 0; block < blocks.count; ++block) {
      const std::size_t vectors = blocks.size(block), width = vectors * kernel.lanes;
      const std::size_t used = std::min(width, args.filters - filter);
      row.run(tiles, vectors, filter, used, r * static_cast<std::size_t>(g.output[2]) + x0, x1 - x0);
      tiles.w += k * width;
      filter += used;
    }
  }
}

}  // namespace jitney::kernels
