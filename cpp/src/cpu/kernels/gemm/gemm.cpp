// GEMM: the list of kernels, and the loops over register tiles.
#include "cpu/kernels/gemm/gemm.h"

#include <algorithm>

#include "cpu/kernels/best_kernel.h"

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

constexpr std::size_t kMaxWideColumns = 4 * kMaxTileColumns;

}  // namespace

std::span<const GemmKernel* const> gemm_kernels() noexcept { return kKernels; }

const GemmKernel& gemm_kernel(Isa active) noexcept { return best_kernel<GemmKernel>(kKernels, active); }

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

namespace {

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

void gemm_tile(const GemmKernel& kernel, const GemmArgs& args, std::size_t m0, std::size_t m1, std::size_t n0,
               std::size_t n1) noexcept {
  const std::optional<Clamp> clamp = as_clamp(args.epilogue);
  if (m1 == m0 + 1) n0 = wide_row(kernel, args, m0, n0, n1);
  const float* rows[kMaxTileRows];
  const RowGroups groups(m1 - m0, kernel.mr);
  for (std::size_t n = n0; n < n1; n += kernel.nr) {
    const std::ptrdiff_t j = static_cast<std::ptrdiff_t>(n);
    std::size_t m = m0;
    for (std::size_t group = 0; group < groups.count; ++group) {
      const std::size_t used = groups.height(group);
      for (std::size_t r = 0; r < kernel.mr; ++r)
        rows[r] = args.a + static_cast<std::ptrdiff_t>(m + std::min(r, used - 1)) * args.lda;
      const std::ptrdiff_t i = static_cast<std::ptrdiff_t>(m);
      MicroTile tile;
      tile.rows = rows;
      tile.k = args.k;
      tile.b = args.b + n * args.k;
      tile.c = args.c + i * args.ldc + j;
      tile.ldc = args.ldc;
      run_micro_tile(kernel, tile, shifted(args.epilogue, i, j), clamp, used, std::min(kernel.nr, n1 - n));
      m += used;
    }
  }
}

}  // namespace jitney::kernels
