// A panel of B by register tiles of 8×8 floats for AArch64 NEON. Included by f32_gemm_8x8_*neon.cpp only, which give the tiles:
// a type with run<kUsed, kSource>(TileRun).
#pragma once

#include <arm_neon.h>

#include <algorithm>

#include "cpu/kernels/gemm/gemm.h"

namespace jitney::kernels {
namespace {

constexpr std::size_t kRows = 8;
constexpr std::size_t kColumns = 8;
constexpr std::ptrdiff_t kFloat = static_cast<std::ptrdiff_t>(sizeof(float));

/// Where a tile's rows of A come from. The first of several panels copies them side by side for the others, which then read them
/// by few instructions: for each tap [k/4][rows][4], then [k%4][rows], where a tile of up to four rows has 4 and others 8.
enum class Source : int { rows, rows_copied, copy };

/// Groups of equal height below each other, as the assembly reads it: strides in bytes; fields that one instruction loads stand
/// side by side.
struct TileRun {
  const float* a;
  std::ptrdiff_t lda;
  float* copy;
  std::ptrdiff_t copy_stride;  // between groups
  const float* b;
  std::size_t taps;
  float* c;
  std::ptrdiff_t ldc;
  const float* bias;
  std::size_t bounds;  // bit 0: clamp.low counts, bit 1: clamp.high
  const float* const* table;
  std::size_t k;
  const float* residual;
  std::ptrdiff_t ldr;
  std::size_t count;
  Clamp clamp;
};

using Tiles = void (*)(const TileRun& run);
#define JITNEY_HEIGHTS(source)                                                                        \
  {Kernel::template run<1, source>, Kernel::template run<2, source>, Kernel::template run<3, source>, \
   Kernel::template run<4, source>, Kernel::template run<5, source>, Kernel::template run<6, source>, \
   Kernel::template run<7, source>, Kernel::template run<8, source>}
template <typename Kernel>
constexpr Tiles kTiles[3][kRows] = {JITNEY_HEIGHTS(Source::rows), JITNEY_HEIGHTS(Source::rows_copied),
                                    JITNEY_HEIGHTS(Source::copy)};
#undef JITNEY_HEIGHTS

/// Runs `count` groups of `height` rows and moves on behind them.
void run_groups(const Tiles* tiles, TileRun& run, std::size_t height, std::size_t count) {
  if (count == 0) return;
  run.count = count;
  tiles[height - 1](run);
  const auto rows = static_cast<std::ptrdiff_t>(height * count);
  const auto shift = [](auto* p, std::ptrdiff_t bytes) {
    return p == nullptr ? p : p + bytes / static_cast<std::ptrdiff_t>(sizeof *p);
  };
  run.a = shift(run.a, rows * run.lda);
  run.table = shift(run.table, static_cast<std::ptrdiff_t>(count * run.taps * kRows * sizeof(float*)));
  run.copy = shift(run.copy, static_cast<std::ptrdiff_t>(count) * run.copy_stride);
  run.residual = shift(run.residual, rows * run.ldr);
  run.c = shift(run.c, rows * run.ldc);
}

/// The same for a panel of fewer columns than the tiles have: with bias, residual and results in tiles of their own.
void run_narrow_groups(const Tiles* tiles, TileRun& run, std::size_t height, std::size_t count, std::size_t columns) {
  alignas(16) float bias[kColumns] = {}, results[kRows * kColumns] = {};
  TileRun part = run;
  if (run.bias != nullptr) {
    std::copy_n(run.bias, columns, bias);
    part.bias = bias;
  }
  part.ldc = part.ldr = static_cast<std::ptrdiff_t>(kColumns) * kFloat;
  for (; count != 0; --count) {
    part.c = results;
    if (run.residual != nullptr) {
      part.residual = results;
      for (std::size_t r = 0; r < height; ++r, run.residual += run.ldr / kFloat)
        std::copy_n(run.residual, columns, results + r * kColumns);
    }
    run_groups(tiles, part, height, 1);
    for (std::size_t r = 0; r < height; ++r, run.c += run.ldc / kFloat) std::copy_n(results + r * kColumns, columns, run.c);
  }
  run.a = part.a;
  run.table = part.table;
  run.copy = part.copy;
}

/// What the tiles of a panel are told.
inline TileRun tile_run(const PanelRun& panel) {
  TileRun run{};
  run.a = panel.a;
  run.lda = panel.lda * kFloat;
  run.copy = panel.copy;
  const std::size_t copy_stride = panel.copy_stride != 0 ? panel.copy_stride : kRows * panel.taps * panel.k;
  run.copy_stride = static_cast<std::ptrdiff_t>(copy_stride) * kFloat;
  run.b = panel.b;
  run.taps = panel.taps;
  run.c = panel.c;
  run.ldc = panel.ldc * kFloat;
  run.bias = panel.bias;
  run.bounds = (panel.clamp.low != kNoClamp.low ? 1 : 0) + (panel.clamp.high != kNoClamp.high ? 2 : 0);
  run.table = panel.table;
  run.k = panel.k;
  run.residual = panel.residual;
  run.ldr = panel.ldr * kFloat;
  run.clamp = panel.clamp;
  if (panel.copy != nullptr && panel.copied && run.k % 4 == 0) {  // the taps lie one behind the other
    run.k *= run.taps;
    run.taps = 1;
  }
  return run;
}

template <typename Kernel>
const Tiles* tiles_for(const PanelRun& panel) {
  const Source source = panel.copy == nullptr ? Source::rows : panel.copied ? Source::copy : Source::rows_copied;
  return kTiles<Kernel>[static_cast<int>(source)];
}

void run_all_groups(const Tiles* tiles, TileRun& run, const PanelRun& panel) {
  const std::size_t shorter = panel.groups.count - panel.groups.taller;
  if (panel.columns == kColumns) {
    run_groups(tiles, run, panel.groups.base + 1, panel.groups.taller);
    run_groups(tiles, run, panel.groups.base, shorter);
  } else {
    run_narrow_groups(tiles, run, panel.groups.base + 1, panel.groups.taller, panel.columns);
    run_narrow_groups(tiles, run, panel.groups.base, shorter, panel.columns);
  }
}

template <typename Kernel>
void run_panel(const PanelRun& panel) {
  TileRun run = tile_run(panel);
  run_all_groups(tiles_for<Kernel>(panel), run, panel);
}

template <typename Kernel>
void run_series(PanelRun panel, const PanelSeries& series) {
  const Tiles* const tiles = tiles_for<Kernel>(panel);
  if (series.add) {
    panel.residual = panel.c;
    panel.ldr = panel.ldc;
  }
  TileRun first = tile_run(panel);
  const std::ptrdiff_t rows = panel.copy == nullptr ? series.a : 0, copies = series.a - rows;
  // All rows in one call, as small images have them: nothing but addresses changes.
  const bool single = panel.groups.taller == 0 && panel.groups.count != 0 && panel.columns == kColumns;
  first.count = panel.groups.count;
  const Tiles alike = single ? tiles[panel.groups.base - 1] : nullptr;
  for (std::size_t i = 0; i < series.count; ++i) {
    if (single) {
      alike(first);
    } else {
      TileRun run = first;
      run_all_groups(tiles, run, panel);
    }
    first.a += rows;
    first.copy += copies;
    first.b += series.b;
    first.c += series.c;
    if (series.add) first.residual += series.c;
  }
}

// A single row leaves most accumulators of a tile idle and waits for each FMA; four panels at once keep 8 chains in flight.
constexpr std::size_t kWidePanels = 4;

void wide_row(const float* a, std::size_t k, const float* b, float* c) {
  const std::size_t floats = k * kColumns;
#define JITNEY_PANELS(X) X(0) X(1) X(2) X(3)
#define JITNEY_DECLARE(p)                 \
  const float* panel##p = b + p * floats; \
  float32x4_t left##p = vdupq_n_f32(0.0f), right##p = vdupq_n_f32(0.0f);
  JITNEY_PANELS(JITNEY_DECLARE)
  std::size_t i = 0;
#define JITNEY_LANE(p)                                                     \
  left##p = vfmaq_laneq_f32(left##p, vld1q_f32(panel##p), x, kLane);       \
  right##p = vfmaq_laneq_f32(right##p, vld1q_f32(panel##p + 4), x, kLane); \
  panel##p += kColumns;
#define JITNEY_K(lane)          \
  {                             \
    constexpr int kLane = lane; \
    JITNEY_PANELS(JITNEY_LANE)  \
  }
  for (; i + 4 <= k; i += 4) {
    const float32x4_t x = vld1q_f32(a + i);
    JITNEY_K(0)
    JITNEY_K(1)
    JITNEY_K(2)
    JITNEY_K(3)
  }
  for (; i < k; ++i) {
    const float32x4_t x = vld1q_dup_f32(a + i);
    JITNEY_K(0)
  }
#define JITNEY_KEEP(p)                  \
  vst1q_f32(c + p * kColumns, left##p); \
  vst1q_f32(c + p * kColumns + 4, right##p);
  JITNEY_PANELS(JITNEY_KEEP)
#undef JITNEY_PANELS
#undef JITNEY_DECLARE
#undef JITNEY_LANE
#undef JITNEY_K
#undef JITNEY_KEEP
}

}  // namespace
}  // namespace jitney::kernels
