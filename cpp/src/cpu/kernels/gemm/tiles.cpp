// How an output is cut into tiles for caches and threads.
#include <algorithm>

#include "cpu/kernels/gemm/gemm.h"

namespace jitney::kernels {
namespace {

// The part of A that one tile reads again for each panel of B should stay in the second-level cache of small processors.
constexpr std::size_t kRowBlockBytes = 128 * 1024;
// Enough tiles per thread that one which starts late or runs slower can be relieved.
constexpr std::size_t kTilesPerThread = 4;
// Below this many multiply-adds a tile is not worth handing to a thread.
constexpr std::size_t kLeastWork = 32 * 1024;

std::size_t divide_up(std::size_t a, std::size_t b) noexcept { return (a + b - 1) / b; }
std::size_t round_up(std::size_t a, std::size_t step) noexcept { return divide_up(a, step) * step; }

}  // namespace

TileGrid::Tile TileGrid::tile(std::size_t index) const noexcept {
  const std::size_t along_rows = column_major ? index % row_tiles() : index / column_tiles();
  const std::size_t along_columns = column_major ? index / row_tiles() : index % column_tiles();
  const std::size_t row = along_rows * row_step;
  const std::size_t column = along_columns * column_step;
  return {row, std::min(rows, row + row_step), column, std::min(columns, column + column_step)};
}

TileGrid gemm_tiles(const GemmKernel& kernel, std::size_t m, std::size_t n, std::size_t k, std::size_t threads) noexcept {
  TileGrid grid;
  grid.rows = m;
  grid.columns = n;
  const std::size_t row_bytes = std::max<std::size_t>(1, k * sizeof(float));
  grid.row_step = std::max(kernel.mr, kRowBlockBytes / row_bytes / kernel.mr * kernel.mr);
  grid.row_step = std::max(kernel.mr, std::min(grid.row_step, round_up(m, kernel.mr)));
  grid.column_step = std::max(kernel.nr, round_up(n, kernel.nr));
  grid.column_major = n > m;
  if (threads <= 1 || grid.count() == 0) return grid;

  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const std::size_t worthwhile = static_cast<std::size_t>(std::min(work / kLeastWork, 1e6)) + 1;
  const std::size_t wanted = std::min(threads * kTilesPerThread, worthwhile);
  if (grid.count() >= wanted) return grid;
  // Cut the longer side first: it leaves the tiles squarer, so each reads less.
  const std::size_t panels = divide_up(n, kernel.nr);
  const std::size_t strips = divide_up(m, kernel.mr);
  if (n > m) {
    grid.column_step = std::max<std::size_t>(1, panels / divide_up(wanted, grid.row_tiles())) * kernel.nr;
    if (grid.count() < wanted)
      grid.row_step = std::max<std::size_t>(1, strips / divide_up(wanted, grid.column_tiles())) * kernel.mr;
  } else {
    grid.row_step =
        std::min(grid.row_step, std::max<std::size_t>(1, strips / divide_up(wanted, grid.column_tiles())) * kernel.mr);
    if (grid.count() < wanted)
      grid.column_step = std::max<std::size_t>(1, panels / divide_up(wanted, grid.row_tiles())) * kernel.nr;
  }
  return grid;
}

}  // namespace jitney::kernels
