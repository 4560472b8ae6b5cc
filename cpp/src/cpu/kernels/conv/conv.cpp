// Convolution as indirect GEMM: kernels, packing, and the loops over register tiles.
#include "cpu/kernels/conv/conv.h"

#include <algorithm>

#include "base/aligned.h"
#include "cpu/kernels/conv/indirection.h"

namespace jitney::kernels {

#define JITNEY_CONV_KERNEL(name, isa, mr, nr, type, gemm) extern const GemmKernel gemm;
#include "cpu/kernels/conv/kernels.inc"
#undef JITNEY_CONV_KERNEL

namespace {

#define JITNEY_CONV_KERNEL(name, isa, mr, nr, type, gemm) {#name, &gemm},
constexpr ConvKernel kKernels[] = {
#include "cpu/kernels/conv/kernels.inc"
};
#undef JITNEY_CONV_KERNEL

// The pointer table should not displace much else from the first-level cache.
constexpr std::size_t kTableBytes = 16 * 1024;
constexpr std::size_t kLeastCopiedRows = 32;

std::size_t copy_bytes(const ConvKernel& kernel, const ConvGeometry& geometry, std::size_t channels, std::size_t rows,
                       std::size_t columns) noexcept {
  return row_copy_bytes(*kernel.gemm, rows, columns, geometry.taps() * channels);
}

}  // namespace

std::span<const ConvKernel> conv_kernels() noexcept { return kKernels; }

const ConvKernel& conv_kernel(Isa active, Core core) noexcept {
  const GemmKernel* gemm = &gemm_kernel(active, core);
  const ConvKernel* best = &kKernels[0];
  for (const ConvKernel& kernel : kKernels) {
    if (kernel.gemm == gemm) best = &kernel;
  }
  return *best;
}

std::size_t packed_conv_size(const ConvKernel& kernel, std::size_t taps, std::size_t channels, std::size_t filters) noexcept {
  return packed_b_size(*kernel.gemm, taps * channels, filters);
}

float* pack_filters(const FilterWeights& w, const Spatial& size, std::size_t channels, std::size_t used, std::size_t width,
                    float* packed) noexcept {
  for (std::ptrdiff_t i = 0; i < size[0]; ++i) {
    for (std::ptrdiff_t j = 0; j < size[1]; ++j) {
      for (std::ptrdiff_t k = 0; k < size[2]; ++k) {
        const float* tap = w.data + i * w.tap_stride[0] + j * w.tap_stride[1] + k * w.tap_stride[2];
        for (std::size_t c = 0; c < channels; ++c, tap += w.channel_stride) {
          for (std::size_t n = 0; n < used; ++n) *packed++ = tap[static_cast<std::ptrdiff_t>(n) * w.filter_stride];
          packed = std::fill_n(packed, width - used, 0.0f);
        }
      }
    }
  }
  return packed;
}

void pack_conv(const ConvKernel& kernel, const Spatial& size, std::size_t channels, std::size_t filters, const FilterWeights& w,
               float* packed) noexcept {
  const std::size_t nr = kernel.gemm->nr;
  for (std::size_t f = 0; f < filters; f += nr)
    packed = pack_filters(w.from(f), size, channels, std::min(nr, filters - f), nr, packed);
}

TileGrid conv_tiles(const ConvKernel& kernel, const ConvGeometry& geometry, std::size_t channels, std::size_t filters,
                    std::size_t threads) noexcept {
  // Neighbouring pixels share all but stride × stride pixels of their input.
  const std::size_t own = static_cast<std::size_t>(std::min(geometry.stride[0], geometry.kernel[0]) *
                                                   std::min(geometry.stride[1], geometry.kernel[1]) *
                                                   std::min(geometry.stride[2], geometry.kernel[2]));
  TileGrid grid =
      gemm_tiles(*kernel.gemm, geometry.pixels(), filters, geometry.taps() * channels, threads, own * channels * sizeof(float));
  const std::size_t mr = kernel.gemm->mr;
  const std::size_t most = kTableBytes / (tap_runs(geometry, channels).runs * sizeof(const float*)) / mr * mr;
  grid.row_step = std::min(grid.row_step, std::max(mr, most));
  // Fewer rows, so that they can be copied, as long as each panel of weights still serves many.
  while (grid.row_step > kLeastCopiedRows && kernel.gemm->copies_rows &&
         copy_bytes(kernel, geometry, channels, grid.row_step, filters) == 0 && filters > kernel.gemm->nr) {
    grid.row_step = (grid.row_step / mr + 1) / 2 * mr;
  }
  return grid;
}

std::size_t conv_scratch(const ConvKernel& kernel, const ConvGeometry& geometry, std::size_t channels,
                         const TileGrid& grid) noexcept {
  return align_up(indirection_bytes(tap_runs(geometry, channels), grid.row_step, kernel.gemm->mr)) +
         copy_bytes(kernel, geometry, channels, grid.row_step, grid.columns);
}

void conv_tile(const ConvKernel& kernel, const ConvArgs& args, std::size_t p0, std::size_t p1, std::size_t f0, std::size_t f1,
               void* scratch) noexcept {
  if (p0 >= p1) return;
  const GemmKernel& gemm = *kernel.gemm;
  const TapRuns taps = tap_runs(args.geometry, args.channels);
  const float* const* table =
      fill_indirection(args.geometry, taps, args.channels, args.input, args.zeros, p0, p1, gemm.mr, scratch);
  const std::optional<Clamp> clamp = as_clamp(args.epilogue);
  const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(p0);
  const std::size_t panel = gemm.nr * taps.runs * taps.length;
  PanelRun run;
  run.groups = RowGroups(p1 - p0, gemm.mr);
  run.table = table;
  run.taps = taps.runs;
  run.k = taps.length;
  run.ldc = args.output_stride;
  if (args.tile_rows != 0 && copy_bytes(kernel, args.geometry, args.channels, args.tile_rows, args.filters) != 0) {
    const std::size_t bytes = indirection_bytes(taps, p1 - p0, gemm.mr);
    run.copy = reinterpret_cast<float*>(static_cast<std::byte*>(scratch) + align_up(bytes));
  }
  for (std::size_t f = f0; f < f1; f += gemm.nr) {
    const std::ptrdiff_t column = static_cast<std::ptrdiff_t>(f);
    run.columns = std::min(gemm.nr, f1 - f);
    run.b = args.weights + f * taps.runs * taps.length;
    run.next_b = f + gemm.nr < args.filters ? run.b + panel : nullptr;
    run.c = args.output + row * args.output_stride + column;
    run_panel(gemm, run, shifted(args.epilogue, row, column), clamp);
    run.copied = true;
  }
}

}  // namespace jitney::kernels
