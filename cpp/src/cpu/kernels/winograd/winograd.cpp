// Winograd convolution: the list of kernels, and the loops over tiles, panels of filters and blocks of channels.
#include "cpu/kernels/winograd/winograd.h"

#include <algorithm>
#include <array>

#include "base/aligned.h"
#include "cpu/kernels/best_kernel.h"

namespace jitney::kernels {

#define JITNEY_WINOGRAD_KERNEL(name, isa, tile, lanes, type) extern const WinogradKernel name;
#include "cpu/kernels/winograd/kernels.inc"
#undef JITNEY_WINOGRAD_KERNEL

namespace {

#define JITNEY_WINOGRAD_KERNEL(name, isa, tile, lanes, type) &name,
constexpr const WinogradKernel* kKernels[] = {
#include "cpu/kernels/winograd/kernels.inc"
};
#undef JITNEY_WINOGRAD_KERNEL

// A block of transformed weights is written and then read once, from a core's own cache.
constexpr std::size_t kWeightBytes = 320 * 1024;
// So are the transformed inputs of a block of tiles, once for each panel of filters.
constexpr std::size_t kInputBytes = 512 * 1024;
// Distances that are no power of two, so that the points of a tile do not compete for the same lines of a cache.
constexpr std::size_t kLine = 16;

std::size_t round_up(std::size_t a, std::size_t step) noexcept { return (a + step - 1) / step * step; }

std::size_t tiles_along(std::ptrdiff_t size, std::ptrdiff_t tile) noexcept {
  return static_cast<std::size_t>((size + tile - 1) / tile);
}

/// One tile of the batch: its image and the coordinates of its first result.
struct Tile {
  std::ptrdiff_t image, row, column;

  Tile(const Winograd& method, std::size_t index) noexcept {
    const std::ptrdiff_t size = method.kernel->tile;
    const std::size_t across = tiles_along(method.geometry.output[2], size);
    const std::size_t per_image = tiles_along(method.geometry.output[1], size) * across;
    const std::size_t within = index % per_image;
    image = static_cast<std::ptrdiff_t>(index / per_image);
    row = static_cast<std::ptrdiff_t>(within / across) * size;
    column = static_cast<std::ptrdiff_t>(within % across) * size;
  }
};

/// Pointers to the tile's inputs; those outside the image point to zeros.
void tile_pixels(const ConvArgs& args, const Tile& tile, std::ptrdiff_t reach, const float** pixels) noexcept {
  const ConvGeometry& g = args.geometry;
  const float* image = args.input + tile.image * g.input_batch_stride;
  for (std::ptrdiff_t i = 0; i < reach; ++i) {
    const std::ptrdiff_t y = tile.row + i - g.pad_begin[1];
    for (std::ptrdiff_t j = 0; j < reach; ++j) {
      const std::ptrdiff_t x = tile.column + j - g.pad_begin[2];
      const bool inside = y >= 0 && y < g.input[1] && x >= 0 && x < g.input[2];
      *pixels++ = inside ? image + y * g.input_stride[1] + x * g.input_stride[2] : args.zeros;
    }
  }
}

/// Floats between the points of a tile's transformed inputs.
std::size_t channel_places(std::size_t channels) noexcept {
  const std::size_t places = round_up(channels, kLine);
  return places % 128 == 0 ? places + kLine : places;
}

/// Floats between the points of transformed weights.
std::size_t weight_places(const Winograd& method) noexcept { return method.channel_block() * method.gemm->nr + kLine; }

/// Asks early for a block of untransformed weights, nine runs of `count` floats, in several goes: the transform would wait.
class TapPrefetch {
 public:
  TapPrefetch(const float* first, std::size_t stride, std::size_t count) noexcept : run_(first), stride_(stride), count_(count) {}

  void fetch(std::size_t lines) noexcept {
    for (; lines != 0 && runs_ != 0; --lines) {
      __builtin_prefetch(run_ + at_, 0, 2);
      at_ += kLine;
      if (at_ < count_) continue;
      at_ = 0;
      run_ += stride_;
      --runs_;
    }
  }

 private:
  const float* run_;
  std::size_t stride_, count_, runs_ = 9, at_ = 0;
};

/// Restores a tile from its sums and stores what lies inside the image, through the epilogue.
void store_tile(const Winograd& method, const ConvArgs& args, const std::optional<Clamp>& clamp, const Tile& tile,
                std::size_t filter, std::size_t columns, const float* sums, float* results) noexcept {
  const ConvGeometry& g = args.geometry;
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(filter);
  const std::ptrdiff_t pixel = (tile.image * g.output[1] + tile.row) * g.output[2] + tile.column;
  float* const y = args.output + pixel * args.output_stride + first;
  const Epilogue epilogue = shifted(args.epilogue, pixel, first);
  WinogradTileOutput out;
  out.sums = sums;
  out.point_stride = method.gemm->nr;
  out.rows = static_cast<std::size_t>(std::min(method.kernel->tile, g.output[1] - tile.row));
  out.across = static_cast<std::size_t>(std::min(method.kernel->tile, g.output[2] - tile.column));
  out.columns = columns;
  if (clamp) {
    out.y = y;
    out.pixel_stride = args.output_stride;
    out.row_stride = g.output[2] * args.output_stride;
    out.bias = epilogue.bias;
    out.residual = epilogue.residual;
    out.residual_pixel_stride = epilogue.residual_stride;
    out.residual_row_stride = g.output[2] * epilogue.residual_stride;
    out.clamp = *clamp;
    method.kernel->output(out);
    return;
  }
  out.y = results;
  out.pixel_stride = static_cast<std::ptrdiff_t>(method.gemm->nr);
  out.row_stride = method.kernel->tile * out.pixel_stride;
  method.kernel->output(out);
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(out.rows); ++i) {
    const std::ptrdiff_t row = i * g.output[2];
    method.gemm->epilogue(shifted(epilogue, row, 0), out.across, columns, results + i * out.row_stride, out.pixel_stride,
                          y + row * args.output_stride, args.output_stride);
  }
}

}  // namespace

std::span<const WinogradKernel* const> winograd_kernels() noexcept { return kKernels; }

const WinogradKernel& winograd_kernel(Isa active, std::ptrdiff_t tile) noexcept {
  const WinogradKernel* best = nullptr;
  for (const WinogradKernel* kernel : kKernels) {
    if (kernel->tile == tile && includes(active, kernel->isa)) best = kernel;
  }
  return *best;
}

bool winograd_fits(const ConvGeometry& g) noexcept {
  return g.kernel == Spatial{1, 3, 3} && g.stride == Spatial{1, 1, 1} && g.dilation == Spatial{1, 1, 1} && g.input[0] == 1 &&
         g.output[0] == 1 && g.pad_begin[0] == 0;
}

std::size_t Winograd::tiles() const noexcept {
  return static_cast<std::size_t>(geometry.batch) * tiles_along(geometry.output[1], kernel->tile) *
         tiles_along(geometry.output[2], kernel->tile);
}

std::size_t Winograd::tile_floats() const noexcept { return kernel->points() * channel_places(channels); }

std::size_t Winograd::channel_block() const noexcept {
  constexpr std::size_t kUnit = 8;
  const std::size_t most = std::max(kUnit, kWeightBytes / (kernel->points() * gemm->nr * sizeof(float)) / kUnit * kUnit);
  const std::size_t blocks = std::max<std::size_t>(1, (channels + most - 1) / most);
  return std::max(kUnit, round_up((channels + blocks - 1) / blocks, kUnit));
}

std::size_t Winograd::scratch(std::size_t tiles) const noexcept {
  const std::size_t weights = kernel->points() * weight_places(*this) * sizeof(float);
  const std::size_t sums = tiles * kernel->points() * gemm->nr * sizeof(float);
  const std::size_t results = static_cast<std::size_t>(kernel->tile * kernel->tile) * gemm->nr * sizeof(float);
  return align_up(weights) + align_up(sums) + align_up(results);
}

std::size_t winograd_block(const Winograd& method, std::size_t threads) noexcept {
  // Transforming the weights takes as long as multiplying them with a few tiles.
  constexpr std::size_t kWeightRows = 3;
  const std::size_t mr = method.gemm->mr;
  const std::size_t tiles = method.tiles();
  const std::size_t most = std::max(mr, kInputBytes / (method.tile_floats() * sizeof(float)));
  const std::size_t fewest = std::max<std::size_t>(1, (tiles + most - 1) / most);
  // The number of blocks for which the busiest thread has least to do.
  std::size_t best = SIZE_MAX, block = 1;
  for (std::size_t count = fewest; count < fewest + 2 * threads; ++count) {
    const std::size_t rows = std::max<std::size_t>(1, (tiles + count - 1) / count);
    const std::size_t rounds = (count + threads - 1) / threads;
    const std::size_t cost = rounds * (round_up(rows, mr) + kWeightRows);
    if (cost >= best) continue;
    best = cost;
    block = rows;
  }
  return block;
}

void winograd_inputs(const Winograd& method, const ConvArgs& args, std::size_t first, std::size_t last, float* v) noexcept {
  std::array<const float*, kMostWinogradPoints> pixels;
  for (std::size_t tile = first; tile < last; ++tile, v += method.tile_floats()) {
    tile_pixels(args, Tile(method, tile), method.kernel->reach(), pixels.data());
    method.kernel->input(pixels.data(), method.channels, v, channel_places(method.channels));
  }
}

void winograd_results(const Winograd& method, const ConvArgs& args, std::size_t first, std::size_t last, const float* v,
                      std::size_t f0, std::size_t f1, void* scratch) noexcept {
  const WinogradKernel& kernel = *method.kernel;
  const GemmKernel& gemm = *method.gemm;
  const std::size_t points = kernel.points(), nr = gemm.nr, channels = method.channels;
  const std::size_t tiles = last - first;
  auto* bytes = static_cast<std::byte*>(scratch);
  auto* const u = reinterpret_cast<float*>(bytes);
  const std::size_t u_stride = weight_places(method);
  bytes += align_up(points * u_stride * sizeof(float));
  auto* const sums = reinterpret_cast<float*>(bytes);
  bytes += align_up(tiles * points * nr * sizeof(float));
  auto* const results = reinterpret_cast<float*>(bytes);
  const std::optional<Clamp> clamp = as_clamp(args.epilogue);
  const std::size_t block = method.channel_block();

  for (std::size_t f = f0; f < f1; f += nr) {
    const float* weights = args.weights + f * 9 * channels;
    const std::size_t used = std::min(nr, f1 - f);
    for (std::size_t c = 0; c < channels || c == 0; c += block) {
      const std::size_t depth = std::min(block, channels - c);
      kernel.weights(weights + c * nr, channels * nr, depth * nr, u, u_stride);
      const bool last_block = c + block >= channels;
      const std::size_t next_depth = std::min(block, last_block ? channels : channels - c - block);
      TapPrefetch next(last_block ? weights + 9 * channels * nr : weights + (c + block) * nr, channels * nr, next_depth * nr);
      const std::size_t lines = last_block && f + nr >= f1 ? 0 : 9 * next_depth * nr / kLine / points + 1;
      PanelRun product;
      product.groups = RowGroups(tiles, gemm.mr);
      product.columns = std::min(nr, round_up(used, kernel.lanes));
      product.a = v + c;
      product.lda = static_cast<std::ptrdiff_t>(method.tile_floats());
      product.k = depth;
      product.b = u;
      product.c = sums;
      product.ldc = static_cast<std::ptrdiff_t>(points * nr);
      Epilogue add;
      add.residual_stride = product.ldc;
      for (std::size_t e = 0; e < points; ++e) {
        next.fetch(lines);
        if (c != 0) add.residual = product.c;
        run_panel(gemm, product, add, kNoClamp);
        product.a += channel_places(channels);
        product.b += u_stride;
        product.c += nr;
      }
    }
    for (std::size_t tile = 0; tile < tiles; ++tile)
      store_tile(method, args, clamp, Tile(method, first + tile), f, used, sums + tile * points * nr, results);
  }
}

}  // namespace jitney::kernels
