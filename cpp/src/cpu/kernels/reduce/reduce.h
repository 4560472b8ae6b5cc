// Reductions in float32: over a contiguous run, or over rows with one result per column. Blocks are fixed, so a result depends
// on its elements and their order alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu_features.h"

namespace jitney::kernels {

enum class ReduceOp : std::uint8_t { sum, abs_sum, square_sum, max, min };

/// Columns per call of ReduceKernel::columns at most; and as many as make a piece of work where each costs more.
inline constexpr std::size_t kMostReduceColumns = 512;
inline constexpr std::size_t kReduceColumns = 64;
/// Longest run for ReduceKernel::short_runs.
inline constexpr std::size_t kShortRun = 4;

struct ReduceKernel {
  /// What a reduction starts from.
  double start;
  /// `total` joined with x[0 … n).
  double (*run)(std::size_t n, const float* x, double total);
  /// totals[c] joined with x[r·row_stride + c] over all rows, for c < columns.
  void (*columns)(std::size_t rows, std::ptrdiff_t row_stride, std::size_t columns, const float* x, double* totals);
  /// totals[i] of `count` runs of n ≤ kShortRun elements that follow one another without gaps.
  void (*short_runs)(std::size_t n, std::size_t count, const float* x, double* totals);
  /// One element at a time, for elements that are not contiguous.
  double (*join)(double total, double x);
};

/// The kernels of one level, by ReduceOp.
struct ReduceKernels {
  const char* name;
  Isa isa;
  ReduceKernel ops[5];
};

/// All that this architecture has, weakest first.
std::span<const ReduceKernels* const> reduce_kernels() noexcept;
/// The best one that may run at this level. NaN beats every number in max and min.
const ReduceKernel& reduce_kernel(ReduceOp op, Isa active = active_isa()) noexcept;

}  // namespace jitney::kernels
