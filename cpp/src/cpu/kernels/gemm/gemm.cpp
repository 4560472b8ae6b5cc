// GEMM: the list of kernels, and the loops over register tiles.
#include "cpu/kernels/gemm/gemm.h"

#include <algorithm>

#include "base/aligned.h"

namespace jitney::kernels {

#define JITNEY_GEMM_KERNEL(name, isa, mr, nr, type) \
  extern const GemmKernel name;                     \
  static_assert(mr <= kMaxTileRows && nr <= kMaxTileColumns);
#include "cpu/kernels/gemm/kernels.inc"
#undef JITNEY_GEMM_KERNEL

namespace {

#define JITNEY_GEMM_KERNEL(name, isa, mr, nr, type) &name,
constexpr const GemmKernel* kKernels[] = {
#include "cpu/kernels/gemm/kernels.inc"
};
#undef JITNEY_GEMM_KERNEL

/// More than a core's second-level cache should give to a copy of rows is not copied.
constexpr std::size_t kRowCopyBytes = 320 * 1024;
constexpr std::size_t kMaxWideColumns = 4 * kMaxTileColumns;

}  // namespace

std::span<const GemmKernel* const> gemm_kernels() noexcept { return kKernels; }

const GemmKernel& gemm_kernel(Isa active, Core core) noexcept {
  const GemmKernel* best = kKernels[0];
  for (const GemmKernel* kernel : kKernels) {
    if (includes(active, kernel->isa) && (kernel->core == Core::any || kernel->core == core)) best = kernel;
  }
  return *best;
}

namespace {

/// Rows whose sums are kept until the epilogue has been applied to them.
constexpr std::size_t kSumRows = 48;
static_assert(kSumRows >= kMaxTileRows);

/// One register tile with any epilogue. `tile` needs its rows, taps, k, b, c and ldc.
void run_micro_tile(const GemmKernel& kernel, MicroTile tile, const Epilogue& epilogue, const std::optional<Clamp>& clamp,
                    std::size_t rows, std::size_t columns) noexcept {
  const MicroKernel run = kernel.tiles[rows - 1];
  if (clamp && columns == kernel.nr) {
    tile.bias = epilogue.bias;
    tile.residual = epilogue.residual;
    tile.ldr = epilogue.residual_stride;
    tile.clamp = *clamp;
    run(tile);
    return;
  }
  alignas(64) float sums[kMaxTileRows * kMaxTileColumns];
  float* const c = tile.c;
  const std::ptrdiff_t ldc = tile.ldc;
  const std::ptrdiff_t width = static_cast<std::ptrdiff_t>(kernel.nr);
  tile.c = sums;
  tile.ldc = width;
  tile.clamp = kNoClamp;
  run(tile);
  kernel.epilogue(epilogue, rows, columns, sums, width, c, ldc);
}

/// A panel by a kernel that computes one register tile at a time.
void run_tiles(const GemmKernel& kernel, const PanelRun& run, const Epilogue& epilogue,
               const std::optional<Clamp>& clamp) noexcept {
  const float* plain[kMaxTileRows];
  MicroTile tile;
  tile.taps = run.taps;
  tile.k = run.k;
  tile.b = run.b;
  tile.ldc = run.ldc;
  std::ptrdiff_t row = 0;
  for (std::size_t group = 0; group < run.groups.count; ++group) {
    const std::size_t used = run.groups.height(group);
    if (run.table != nullptr) {
      tile.rows = run.table + group * kernel.mr * run.taps;
    } else {
      for (std::size_t r = 0; r < kernel.mr; ++r)
        plain[r] = run.a + (row + static_cast<std::ptrdiff_t>(std::min(r, used - 1))) * run.lda;
      tile.rows = plain;
    }
    tile.c = run.c + row * run.ldc;
    run_micro_tile(kernel, tile, shifted(epilogue, row, 0), clamp, used, run.columns);
    row += static_cast<std::ptrdiff_t>(used);
  }
}

}  // namespace

void run_panel(const GemmKernel& kernel, PanelRun run, const Epilogue& epilogue, const std::optional<Clamp>& clamp) noexcept {
  if (kernel.panel == nullptr) return run_tiles(kernel, run, epilogue, clamp);
  if (clamp) {
    run.bias = epilogue.bias;
    run.residual = epilogue.residual;
    run.ldr = epilogue.residual_stride;
    run.clamp = *clamp;
    return kernel.panel(run);
  }
  // Raw sums of a few row groups at a time stay in the first-level cache for the epilogue.
  alignas(64) float sums[kSumRows * kMaxTileColumns];
  PanelRun part = run;
  part.c = sums;
  part.ldc = static_cast<std::ptrdiff_t>(kernel.nr);
  const std::size_t step = kSumRows / kernel.mr;
  for (std::size_t group = 0; group < run.groups.count; group += step) {
    const std::size_t last = std::min(group + step, run.groups.count);
    const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(run.groups.first_row(group));
    part.groups = run.groups.part(group, last);
    if (run.table != nullptr) {
      part.table = run.table + group * kernel.mr * run.taps;
    } else {
      part.a = run.a + row * run.lda;
    }
    if (run.copy != nullptr) {
      const std::size_t stride = run.copy_stride != 0 ? run.copy_stride : kernel.mr * run.taps * run.k;
      part.copy = run.copy + group * stride;
    }
    part.next_b = last == run.groups.count ? run.next_b : nullptr;
    kernel.panel(part);
    kernel.epilogue(shifted(epilogue, row, 0), run.groups.first_row(last) - run.groups.first_row(group), run.columns, sums,
                    part.ldc, run.c + row * run.ldc, run.ldc);
  }
}

void run_series(const GemmKernel& kernel, PanelRun run, const PanelSeries& series) noexcept {
  if (kernel.series != nullptr) return kernel.series(run, series);
  Epilogue add;
  add.residual_stride = run.ldc;
  for (std::size_t i = 0; i < series.count; ++i) {
    if (series.add) add.residual = run.c;
    run_panel(kernel, run, add, kNoClamp);
    if (run.copy != nullptr) {
      run.copy += series.a;
    } else {
      run.a += series.a;
    }
    run.b += series.b;
    if (run.next_b != nullptr) run.next_b += series.b;
    run.c += series.c;
  }
}

namespace {

/// Rows that a multiple of a page apart share their sets of the first-level cache, in which few of them fit beside B. Kernels
/// that copy rows side by side do not suffer, and lay their copies out for whole tiles.
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kMostAliasedRows = 6;

std::size_t tile_rows(const GemmKernel& kernel, std::ptrdiff_t lda) noexcept {
  const bool aliased = static_cast<std::size_t>(lda) * sizeof(float) % kPageBytes == 0;
  return kernel.panel != nullptr && !kernel.copies_rows && aliased ? std::min(kernel.mr, kMostAliasedRows) : kernel.mr;
}

/// Groups of wide_panels panels for one row; returns the first column that is left.
std::size_t wide_row(const GemmKernel& kernel, const GemmArgs& args, std::size_t row, std::size_t n0, std::size_t n1) noexcept {
  alignas(64) float sums[kMaxWideColumns];
  const std::size_t width = kernel.wide_panels * kernel.nr;
  const std::ptrdiff_t i = static_cast<std::ptrdiff_t>(row);
  std::size_t n = n0;
  for (; n + width <= n1; n += width) {
    kernel.wide_row(args.a + i * args.lda, args.k, args.b + n * args.k, sums);
    const std::ptrdiff_t j = static_cast<std::ptrdiff_t>(n);
    kernel.epilogue(shifted(args.epilogue, i, j), 1, width, sums, static_cast<std::ptrdiff_t>(width), args.c + i * args.ldc + j,
                    args.ldc);
  }
  return n;
}

}  // namespace

std::size_t row_copy_bytes(const GemmKernel& kernel, std::size_t rows, std::size_t columns, std::size_t depth) noexcept {
  if (!kernel.copies_rows || rows <= 1 || columns <= kernel.nr) return 0;
  const std::size_t bytes = RowGroups(rows, kernel.mr).count * kernel.mr * depth * sizeof(float);
  return bytes <= kRowCopyBytes ? align_up(bytes) : 0;
}

void gemm_tile(const GemmKernel& kernel, const GemmArgs& args, std::size_t m0, std::size_t m1, std::size_t n0, std::size_t n1,
               float* copy) noexcept {
  const std::optional<Clamp> clamp = as_clamp(args.epilogue);
  if (m1 == m0 + 1) n0 = wide_row(kernel, args, m0, n0, n1);
  const std::ptrdiff_t i = static_cast<std::ptrdiff_t>(m0);
  PanelRun run;
  run.groups = RowGroups(m1 - m0, tile_rows(kernel, args.lda));
  run.a = args.a + i * args.lda;
  run.lda = args.lda;
  run.k = args.k;
  run.ldc = args.ldc;
  run.copy = n1 - n0 > kernel.nr ? copy : nullptr;
  for (std::size_t n = n0; n < n1; n += kernel.nr) {
    const std::ptrdiff_t j = static_cast<std::ptrdiff_t>(n);
    run.columns = std::min(kernel.nr, n1 - n);
    run.b = args.b + n * args.k;
    run.next_b = n + kernel.nr < args.n ? run.b + kernel.nr * args.k : nullptr;
    run.c = args.c + i * args.ldc + j;
    run_panel(kernel, run, shifted(args.epilogue, i, j), clamp);
    run.copied = true;
  }
}

}  // namespace jitney::kernels
