// Reductions in float32: over a contiguous run, or over rows with one result per column. Blocks are fixed, so a result depends
// on its elements and their order alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jitney::kernels {

enum class ReduceOp : std::uint8_t { sum, abs_sum, square_sum, max, min };

/// Columns per call of ReduceKernel::columns at most.
inline constexpr std::size_t kReduceColumns = 64;

struct ReduceKernel {
  /// What a reduction starts from.
  double start;
  /// `total` joined with x[0 … n).
  double (*run)(std::size_t n, const float* x, double total);
  /// totals[c] joined with x[r·row_stride + c] over all rows, for c < columns.
  void (*columns)(std::size_t rows, std::ptrdiff_t row_stride, std::size_t columns, const float* x, double* totals);
  /// One element at a time, for elements that are not contiguous.
  double (*join)(double total, double x);
};

/// NaN beats every number in max and min.
const ReduceKernel& reduce_kernel(ReduceOp op) noexcept;

}  // namespace jitney::kernels
