// How an output is cut into tiles for caches and threads.
#include <algorithm>

#include "cpu/kernels/gemm/gemm.h"

namespace jitney::kernels {
namespace {

// What a tile reads again and again should stay in the second-level cache of small processors: its rows of A, read for each
// panel of B, and, where there are several tiles below each other, its columns of B.
constexpr std::size_t kRowBlockBytes = 128 * 1024;
constexpr std::size_t kColumnBlockBytes = 256 * 1024;
// Enough tiles per thread that one which starts late or runs slower can be relieved.
constexpr std::size_t kTilesPerThread = 4;
// Below this many multiply-adds a tile is not worth handing to a thread.
constexpr std::size_t kLeastWork = 32 * 1024;

std::size_t round_up(std::size_t a, std::size_t step) noexcept { return (a + step - 1) / step * step; }

/// The largest multiple of `unit` whose `bytes` each fit into `budget`, at least one unit, and no more than covers `size`.
std::size_t block(std::size_t size, std::size_t unit, std::size_t bytes, std::size_t budget) noexcept {
  const std::size_t fitting = budget / std::max<std::size_t>(1, bytes) / unit * unit;
  return std::max(unit, std::min(fitting, round_up(size, unit)));
}

}  // namespace

TileGrid::Tile TileGrid::tile(std::size_t index) const noexcept {
  const std::size_t along_rows = column_major ? index % row_tiles() : index / column_tiles();
  const std::size_t along_columns = column_major ? index / row_tiles() : index % column_tiles();
  const std::size_t row = along_rows * row_step;
  const std::size_t column = along_columns * column_step;
  return {row, std::min(rows, row + row_step), column, std::min(columns, column + column_step)};
}

TileGrid gemm_tiles(const GemmKernel& kernel, std::size_t m, std::size_t n, std::size_t k, std::size_t threads,
                    std::size_t row_bytes) noexcept {
  TileGrid grid;
  grid.rows = m;
  grid.columns = n;
  grid.row_step = block(m, kernel.mr, row_bytes, kRowBlockBytes);
  grid.column_step = grid.row_tiles() > 1 ? block(n, kernel.nr, k * sizeof(float), kColumnBlockBytes)
                                          : std::max(kernel.nr, round_up(n, kernel.nr));
  if (threads <= 1 || grid.count() == 0) return grid;

  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const std::size_t worthwhile = static_cast<std::size_t>(std::min(work / kLeastWork, 1e6)) + 1;
  const std::size_t wanted = std::min(threads * kTilesPerThread, worthwhile);
  while (grid.count() < wanted) {
    const std::size_t strips = grid.row_step / kernel.mr;
    const std::size_t panels = grid.column_step / kernel.nr;
    if (strips <= 1 && panels <= 1) break;
    // The longer side first: squarer tiles read less.
    if (panels >= strips) {
      grid.column_step = (panels + 1) / 2 * kernel.nr;
    } else {
      grid.row_step = (strips + 1) / 2 * kernel.mr;
    }
  }
  return grid;
}

TileGrid gemm_tiles(const GemmKernel& kernel, std::size_t m, std::size_t n, std::size_t k, std::size_t threads) noexcept {
  return gemm_tiles(kernel, m, n, k, threads, k * sizeof(float));
}

}  // namespace jitney::kernels
