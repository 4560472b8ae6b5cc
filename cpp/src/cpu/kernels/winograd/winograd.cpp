// Winograd convolution: the list of kernels, and the loops over tiles, panels of filters and blocks of channels.
#include "cpu/kernels/winograd/winograd.h"

#include <algorithm>
#include <array>
#include <vector>

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
// So many products are run one behind another while the next weights are fetched.
constexpr std::size_t kFetchedPoints = 2;
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

/// Where the transformed inputs of tiles that are multiplied together lie: tile by tile, point by point, each with all channels;
/// or, for kernels that would copy rows side by side, as those copies.
struct InputLayout {
  RowGroups groups;
  bool copies;
  std::size_t places = 1;  // rows that a group has room for
  std::size_t point;       // floats between the points of a tile, or of a group
  std::size_t group;       // floats between tiles, or groups

  InputLayout(const Winograd& method, std::size_t tiles) noexcept
      : groups(tiles, method.gemm->mr), copies(method.gemm->copies_rows) {
    if (copies) {
      // Five and four rows do not have the same room: three groups of three do.
      if (copy_places(groups.height(0)) != copy_places(groups.base)) groups = RowGroups(tiles, copy_places(groups.base));
      places = copy_places(groups.height(0));
    }
    const std::size_t floats = round_up(method.channels, kLine) * places;
    point = floats % 128 == 0 ? floats + kLine : floats;
    group = method.kernel->points() * point;
  }

  std::size_t floats() const noexcept { return (copies ? groups.count : groups.first_row(groups.count)) * group; }
};

/// The numbers of a row that a block of so many channels has in products.
std::size_t padded(const Winograd& method, std::size_t channels) noexcept {
  return method.gemm->copies_rows ? round_up(channels, kCopyRun) : channels;
}

/// Floats between the points of weights that are transformed when they are used.
std::size_t weight_places(const Winograd& method) noexcept { return method.channel_block() * method.gemm->nr + kLine; }

/// Floats of a panel's transformed weights, if they are kept: block of channels by block of channels, point by point.
std::size_t panel_floats(const Winograd& method) noexcept {
  return method.kernel->points() * padded(method, method.channels) * method.gemm->nr;
}

/// Transforms the weights of channels [c, c + depth), whose taps lie `tap_stride` apart; zeros follow up to whole runs.
void transform_weights(const Winograd& method, const float* weights, std::size_t tap_stride, std::size_t depth, float* u,
                       std::size_t point_stride) noexcept {
  const std::size_t nr = method.gemm->nr, more = padded(method, depth) - depth;
  method.kernel->weights(weights, tap_stride, depth * nr, u, point_stride);
  for (std::size_t e = 0; more != 0 && e < method.kernel->points(); ++e)
    std::fill_n(u + e * point_stride + depth * nr, more * nr, 0.0F);
}

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

std::size_t Winograd::input_floats(std::size_t tiles) const noexcept { return InputLayout(*this, tiles).floats(); }

std::size_t Winograd::weight_floats() const noexcept { return (filters + gemm->nr - 1) / gemm->nr * panel_floats(*this); }

std::size_t Winograd::channel_block() const noexcept {
  constexpr std::size_t kUnit = 8;
  const std::size_t most = std::max(kUnit, kWeightBytes / (kernel->points() * gemm->nr * sizeof(float)) / kUnit * kUnit);
  const std::size_t blocks = std::max<std::size_t>(1, (channels + most - 1) / most);
  return std::max(kUnit, round_up((channels + blocks - 1) / blocks, kUnit));
}

std::size_t Winograd::scratch(std::size_t tiles) const noexcept {
  const std::size_t weights = kept ? 0 : kernel->points() * weight_places(*this) * sizeof(float);
  const std::size_t sums = tiles * kernel->points() * gemm->nr * sizeof(float);
  const std::size_t results = static_cast<std::size_t>(kernel->tile * kernel->tile) * gemm->nr * sizeof(float);
  return align_up(weights) + align_up(sums) + align_up(results);
}

std::size_t winograd_block(const Winograd& method, std::size_t threads) noexcept {
  // Transforming the weights takes as long as multiplying them with a few tiles.
  const std::size_t weight_rows = method.kept ? 0 : 3;
  const std::size_t mr = method.gemm->mr;
  const std::size_t tiles = method.tiles();
  const std::size_t most = std::max(mr, kInputBytes * mr / (method.input_floats(mr) * sizeof(float)));
  const std::size_t fewest = std::max<std::size_t>(1, (tiles + most - 1) / most);
  // The number of blocks for which the busiest thread has least to do.
  std::size_t best = SIZE_MAX, block = 1;
  for (std::size_t count = fewest; count < fewest + 2 * threads; ++count) {
    const std::size_t rows = std::max<std::size_t>(1, (tiles + count - 1) / count);
    const std::size_t rounds = (count + threads - 1) / threads;
    const std::size_t cost = rounds * (round_up(rows, mr) + weight_rows);
    if (cost >= best) continue;
    best = cost;
    block = rows;
  }
  return block;
}

void winograd_pack(const Winograd& method, const FilterWeights& w, float* packed) {
  const std::size_t nr = method.gemm->nr, channels = method.channels, points = method.kernel->points();
  const std::size_t block = method.channel_block();
  std::vector<float> panel(9 * channels * nr);
  for (std::size_t f = 0; f < method.filters; f += nr) {
    pack_filters(w.from(f), {1, 3, 3}, channels, std::min(nr, method.filters - f), nr, panel.data());
    for (std::size_t c = 0; c < channels; c += block) {
      const std::size_t depth = std::min(block, channels - c), floats = padded(method, depth) * nr;
      transform_weights(method, panel.data() + c * nr, channels * nr, depth, packed, floats);
      packed += points * floats;
    }
  }
}

void winograd_inputs(const Winograd& method, const ConvArgs& args, const WinogradTiles& tiles, std::size_t first,
                     std::size_t last) noexcept {
  const InputLayout layout(method, tiles.last - tiles.first);
  std::array<const float*, kMostWinogradPoints> pixels;
  for (std::size_t tile = first; tile < last; ++tile) {
    tile_pixels(args, Tile(method, tile), method.kernel->reach(), pixels.data());
    const std::size_t row = tile - tiles.first;
    if (!layout.copies) {
      method.kernel->input(pixels.data(), method.channels, tiles.inputs + row * layout.group, layout.point, method.kernel->lanes);
      continue;
    }
    const std::size_t group = layout.groups.group_of(row);
    float* const v = tiles.inputs + group * layout.group + (row - layout.groups.first_row(group)) * kCopyRun;
    method.kernel->input(pixels.data(), method.channels, v, layout.point, layout.places * kCopyRun);
  }
}

void winograd_results(const Winograd& method, const ConvArgs& args, const WinogradTiles& tiles, std::size_t f0, std::size_t f1,
                      void* scratch) noexcept {
  const WinogradKernel& kernel = *method.kernel;
  const GemmKernel& gemm = *method.gemm;
  const std::size_t points = kernel.points(), nr = gemm.nr, channels = method.channels;
  const std::size_t count = tiles.last - tiles.first;
  const InputLayout layout(method, count);
  auto* bytes = static_cast<std::byte*>(scratch);
  auto* const u = reinterpret_cast<float*>(bytes);
  if (!method.kept) bytes += align_up(points * weight_places(method) * sizeof(float));
  auto* const sums = reinterpret_cast<float*>(bytes);
  bytes += align_up(count * points * nr * sizeof(float));
  auto* const results = reinterpret_cast<float*>(bytes);
  const std::optional<Clamp> clamp = as_clamp(args.epilogue);
  const std::size_t block = method.channel_block();

  for (std::size_t f = f0; f < f1; f += nr) {
    const float* taps = args.weights + f * 9 * channels;  // unless transformed weights are kept:
    const float* kept = args.weights + f / nr * panel_floats(method);
    const std::size_t used = std::min(nr, f1 - f);
    for (std::size_t c = 0; c < channels || c == 0; c += block) {
      const std::size_t depth = std::min(block, channels - c);
      const bool last_block = c + block >= channels;
      const std::size_t next_depth = std::min(block, last_block ? channels : channels - c - block);
      TapPrefetch next(last_block ? taps + 9 * channels * nr : taps + (c + block) * nr, channels * nr, next_depth * nr);
      const std::size_t lines = method.kept || (last_block && f + nr >= f1) ? 0 : 9 * next_depth * nr / kLine / points + 1;
      PanelRun product;
      product.k = padded(method, depth);
      const std::size_t stride = method.kept ? product.k * nr : weight_places(method);
      if (!method.kept) transform_weights(method, taps + c * nr, channels * nr, depth, u, stride);
      product.b = method.kept ? kept + c * points * nr : u;
      product.groups = layout.groups;
      product.columns = std::min(nr, round_up(used, kernel.lanes));
      if (layout.copies) {
        product.copy = tiles.inputs + c * layout.places;
        product.copied = true;
        product.copy_stride = layout.group;
      } else {
        product.a = tiles.inputs + c;
        product.lda = static_cast<std::ptrdiff_t>(layout.group);
      }
      product.c = sums;
      product.ldc = static_cast<std::ptrdiff_t>(points * nr);
      if (method.kept) product.next_b = product.b + stride;  // is prefetched only, so that there need not be one
      // Taps are fetched between series, a few at a time.
      const PanelSeries series{lines == 0 ? points : kFetchedPoints, static_cast<std::ptrdiff_t>(layout.point),
                               static_cast<std::ptrdiff_t>(stride), static_cast<std::ptrdiff_t>(nr), c != 0};
      const auto by = static_cast<std::ptrdiff_t>(series.count);
      for (std::size_t e = 0; e < points; e += series.count) {
        next.fetch(lines * series.count);
        run_series(gemm, product, series);
        if (layout.copies) {
          product.copy += by * series.a;
        } else {
          product.a += by * series.a;
        }
        product.b += by * series.b;
        product.c += by * series.c;
      }
    }
    for (std::size_t tile = 0; tile < count; ++tile)
      store_tile(method, args, clamp, Tile(method, tiles.first + tile), f, used, sums + tile * points * nr, results);
  }
}

}  // namespace jitney::kernels
