// Matrix product C[m,n] = epilogue(A[m,k] · B[k,n]) in float32, with B in packed panels.
//
// Each element of C is one chain of multiply-adds over ascending k, whatever the tile that it lies in: a row of C does not
// depend on m, on the row's position, or on how the caller cuts the work into tiles.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "base/cpu_core.h"
#include "base/cpu_features.h"
#include "cpu/kernels/epilogue.h"

namespace jitney::kernels {

inline constexpr std::size_t kMaxTileRows = 12;
inline constexpr std::size_t kMaxTileColumns = 32;

/// One register tile: rows × nr elements of C, each the sum over `taps` runs of `k` elements. A plain product has one tap.
/// Row r of tap t starts at rows[t·mr + r], mr being the kernel's full tile height. c = clamp(sum + bias + residual).
struct MicroTile {
  const float* const* rows = nullptr;
  std::size_t taps = 1;
  std::size_t k = 0;
  const float* b = nullptr;  // packed panel, [taps·k][nr]
  float* c = nullptr;
  std::ptrdiff_t ldc = 0;
  const float* bias = nullptr;      // nr numbers, or null
  const float* residual = nullptr;  // rows of nr numbers, or null
  std::ptrdiff_t ldr = 0;
  Clamp clamp = kNoClamp;
};

/// Rows cut into groups of nearly equal height ≤ mr: a last group of one or two rows would cost as much time as one of four.
struct RowGroups {
  RowGroups() noexcept = default;
  RowGroups(std::size_t rows, std::size_t mr) noexcept
      : count((rows + mr - 1) / mr), base(count == 0 ? 0 : rows / count), taller(count == 0 ? 0 : rows % count) {}
  std::size_t height(std::size_t group) const noexcept { return group < taller ? base + 1 : base; }
  /// The rows before that group.
  std::size_t first_row(std::size_t group) const noexcept { return group * base + std::min(group, taller); }
  /// The group that a row belongs to.
  std::size_t group_of(std::size_t row) const noexcept {
    return row < taller * (base + 1) ? row / (base + 1) : taller + (row - taller * (base + 1)) / base;
  }
  /// Groups [first, last) by themselves.
  RowGroups part(std::size_t first, std::size_t last) const noexcept {
    RowGroups some;
    some.count = last - first;
    some.base = base;
    some.taller = std::min(last, taller) - std::min(first, taller);
    return some;
  }

  std::size_t count = 0;
  std::size_t base = 0;
  std::size_t taller = 0;  // this many groups, the first, have one row more
};

/// All register tiles below each other in a panel of B: rows × `columns` ≤ nr elements of C, computed as those of MicroTile.
struct PanelRun {
  RowGroups groups;
  std::size_t columns = 0;
  const float* a = nullptr;             // plain product: row r at a + r·lda, or
  std::ptrdiff_t lda = 0;               //
  const float* const* table = nullptr;  // pointers to rows as in MicroTile, taps·mr for each group
  std::size_t taps = 1;
  std::size_t k = 0;
  const float* b = nullptr;
  const float* next_b = nullptr;  // the panel that comes next, or null
  float* copy = nullptr;          // where kernels that copy rows do so, mr·taps·k floats for each group; null: don't
  bool copied = false;            // the rows lie there already: an earlier panel of the same rows has run, or see copy_places
  std::size_t copy_stride = 0;    // floats between the copies of groups; 0: mr·taps·k
  float* c = nullptr;
  std::ptrdiff_t ldc = 0;
  const float* bias = nullptr;      // `columns` numbers, or null
  const float* residual = nullptr;  // rows of `columns` numbers, or null
  std::ptrdiff_t ldr = 0;
  Clamp clamp = kNoClamp;
};

/// Several panels one behind another, equal in all but where they read and write; with raw sums as results.
struct PanelSeries {
  std::size_t count = 0;
  std::ptrdiff_t a = 0, b = 0, c = 0;  // floats from one to the next; `a` of rows or of their copies
  bool add = false;                    // to what is there, or else instead of it
};

using MicroKernel = void (*)(const MicroTile& tile);
using PanelKernel = void (*)(const PanelRun& run);
using SeriesKernel = void (*)(PanelRun run, const PanelSeries& series);
/// One row times `wide_panels` consecutive panels; writes the raw sums. Same chains as the tile of one row.
using WideRowKernel = void (*)(const float* a, std::size_t k, const float* b, float* c);

struct GemmKernel {
  const char* name;
  Isa isa;
  std::size_t mr;
  std::size_t nr;
  std::array<MicroKernel, kMaxTileRows> tiles;  // tiles[i] computes i+1 rows, i < mr; unused if there is `panel`
  std::size_t wide_panels;
  WideRowKernel wide_row;
  EpilogueKernel epilogue;
  PanelKernel panel = nullptr;    // whole panels in one call, or null
  Core core = Core::any;          // the kind of core that it is written for
  bool copies_rows = false;       // its panels can share a copy of their rows
  SeriesKernel series = nullptr;  // whole series in one call, or null
};

/// All kernels that this architecture has, weakest first.
std::span<const GemmKernel* const> gemm_kernels() noexcept;
/// The best one that may run at this level, for this kind of core.
const GemmKernel& gemm_kernel(Isa active, Core core = active_core()) noexcept;

/// Runs a panel with any epilogue, whose pointers are at the panel's first row and column. `clamp` is as_clamp(epilogue).
/// `run` needs all but bias, residual and clamp.
void run_panel(const GemmKernel& kernel, PanelRun run, const Epilogue& epilogue, const std::optional<Clamp>& clamp) noexcept;

/// Runs a series that begins with this panel, which needs all but bias, residual and clamp. `next_b` follows the first panel's
/// `b` as any panel's does the one before, if it is given.
void run_series(const GemmKernel& kernel, PanelRun run, const PanelSeries& series) noexcept;

/// Rows may be written as a kernel with copies_rows reads them, if k is a multiple of kCopyRun: number i of row r of a group lies
/// at copy[i / kCopyRun · kCopyRun · copy_places(height) + kCopyRun · r + i % kCopyRun], `height` being the group's.
inline constexpr std::size_t kCopyRun = 4;
constexpr std::size_t copy_places(std::size_t height) noexcept { return height <= 4 ? 4 : 8; }

/// Floats that packed B takes: ceil(n/nr) panels of k·nr.
std::size_t packed_b_size(const GemmKernel& kernel, std::size_t k, std::size_t n) noexcept;
/// Packs panels [first, last) of B, whose element (i, j) lies at b[i·row_stride + j·column_stride]. `packed` is the start of
/// panel 0. Columns past n become zeros. 64-byte alignment of `packed` is best for speed, not needed.
void pack_b(const GemmKernel& kernel, std::size_t k, std::size_t n, const float* b, std::ptrdiff_t row_stride,
            std::ptrdiff_t column_stride, float* packed, std::size_t first, std::size_t last) noexcept;
/// All panels.
void pack_b(const GemmKernel& kernel, std::size_t k, std::size_t n, const float* b, std::ptrdiff_t row_stride,
            std::ptrdiff_t column_stride, float* packed) noexcept;

struct GemmArgs {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
  const float* a = nullptr;  // rows of k contiguous elements
  std::ptrdiff_t lda = 0;
  const float* b = nullptr;  // packed by pack_b
  float* c = nullptr;        // rows of n contiguous elements
  std::ptrdiff_t ldc = 0;
  Epilogue epilogue;
};

/// How a rows × columns output is cut for the thread pool: tile `index` in [0, count()) covers rows [row, row_end) and columns
/// [column, column_end). The cut never changes results.
struct TileGrid {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t row_step = 1;
  std::size_t column_step = 1;
  bool column_major = true;  // neighbouring tiles share columns (B stays in cache)

  std::size_t row_tiles() const noexcept { return (rows + row_step - 1) / row_step; }
  std::size_t column_tiles() const noexcept { return (columns + column_step - 1) / column_step; }
  std::size_t count() const noexcept { return row_tiles() * column_tiles(); }
  struct Tile {
    std::size_t row, row_end, column, column_end;
  };
  Tile tile(std::size_t index) const noexcept;
};

TileGrid gemm_tiles(const GemmKernel& kernel, std::size_t m, std::size_t n, std::size_t k, std::size_t threads) noexcept;
/// The same where rows of A overlap in memory: `row_bytes` is what a row adds to what its neighbours have read.
TileGrid gemm_tiles(const GemmKernel& kernel, std::size_t m, std::size_t n, std::size_t k, std::size_t threads,
                    std::size_t row_bytes) noexcept;

/// Bytes of scratch in which the kernel can copy `rows` rows of `depth` numbers, to be read for all panels of `columns` columns;
/// 0 if it does not do so, or not for so much.
std::size_t row_copy_bytes(const GemmKernel& kernel, std::size_t rows, std::size_t columns, std::size_t depth) noexcept;
/// Computes C for rows [m0, m1) and columns [n0, n1); n0 must be a multiple of nr. k = 0 gives epilogue(0). `copy` is null or has
/// row_copy_bytes; it never changes results.
void gemm_tile(const GemmKernel& kernel, const GemmArgs& args, std::size_t m0, std::size_t m1, std::size_t n0, std::size_t n1,
               float* copy = nullptr) noexcept;

}  // namespace jitney::kernels
