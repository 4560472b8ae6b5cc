// Reductions, written once for whichever V was included before. Included by f32_reduce_*.cpp only.
#pragma once

#include <limits>

#include "cpu/kernels/reduce/reduce.h"

namespace jitney::kernels {
namespace {

/// Elements that are summed in float32 before they join the total in float64: so many for each lane of four vectors.
constexpr std::size_t kStep = 4 * kLanes;
constexpr std::size_t kBlock = 32 * kStep;
constexpr std::size_t kRowBlock = 64;

struct Sum {
  using Lane = float;
  static constexpr double kStart = 0.0;
  static double join(double total, double x) { return total + x; }
  static V step(V a, V x) { return a + x; }
};

struct Max {
  using Lane = float;
  static constexpr double kStart = -std::numeric_limits<double>::infinity();
  static double join(double total, double x) { return x > total || x != x ? x : total; }
  static V step(V a, V x) { return max(a, x); }
};

struct Min {
  using Lane = float;
  static constexpr double kStart = std::numeric_limits<double>::infinity();
  static double join(double total, double x) { return x < total || x != x ? x : total; }
  static V step(V a, V x) { return min(a, x); }
};

// Squares leave float32's range long before their root does, so these two compute in float64 throughout.
struct AbsSum {
  using Lane = double;
  static constexpr double kStart = 0.0;
  static double join(double total, double x) { return total + (x < 0 ? -x : x); }
};

struct SquareSum {
  using Lane = double;
  static constexpr double kStart = 0.0;
  static double join(double total, double x) { return total + x * x; }
};

template <typename Op>
double run(std::size_t n, const float* x, double total) {
  if constexpr (sizeof(typename Op::Lane) == sizeof(float)) {
    const V start = set(static_cast<float>(Op::kStart));
    while (n >= kLanes) {
      const std::size_t block = n < kBlock ? n / kLanes * kLanes : kBlock;
      V a = start, b = start, c = start, d = start;
      std::size_t i = 0;
      for (; i + kStep <= block; i += kStep) {
        a = Op::step(a, load(x + i));
        b = Op::step(b, load(x + i + kLanes));
        c = Op::step(c, load(x + i + 2 * kLanes));
        d = Op::step(d, load(x + i + 3 * kLanes));
      }
      for (; i < block; i += kLanes) a = Op::step(a, load(x + i));
      float lanes[kLanes];
      store(lanes, Op::step(Op::step(a, b), Op::step(c, d)));
      for (const float lane : lanes) total = Op::join(total, static_cast<double>(lane));
      x += block;
      n -= block;
    }
  } else {
    double lanes[4] = {Op::kStart, Op::kStart, Op::kStart, Op::kStart};
    for (; n >= 4; n -= 4, x += 4) {
      for (std::size_t lane = 0; lane < 4; ++lane) lanes[lane] = Op::join(lanes[lane], static_cast<double>(x[lane]));
    }
    total += (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  }
  for (std::size_t i = 0; i < n; ++i) total = Op::join(total, static_cast<double>(x[i]));
  return total;
}

/// sums[c] joined with `kRows` rows: memory is read row by row, and each sum is loaded and stored once for all of them.
template <typename Op, std::size_t kRows>
void join_rows(std::ptrdiff_t row_stride, std::size_t columns, const float* x, float* sums) {
  for_each_vector(columns, [&](std::size_t c, auto part) {
    V sum = part.load(sums + c);
    const float* from = x + c;
    for (std::size_t r = 0; r < kRows; ++r, from += row_stride) sum = Op::step(sum, part.load(from));
    part.store(sums + c, sum);
  });
}

template <typename Op>
void columns(std::size_t rows, std::ptrdiff_t row_stride, std::size_t columns, const float* x, double* totals) {
  if constexpr (sizeof(typename Op::Lane) == sizeof(float)) {
    float sums[kMostReduceColumns];
    while (rows > 0) {
      std::size_t some = rows < kRowBlock ? rows : kRowBlock;
      rows -= some;
      for (std::size_t c = 0; c < columns; ++c) sums[c] = static_cast<float>(Op::kStart);
      for (; some >= 8; some -= 8, x += 8 * row_stride) join_rows<Op, 8>(row_stride, columns, x, sums);
      for (; some > 0; --some, x += row_stride) join_rows<Op, 1>(row_stride, columns, x, sums);
      for (std::size_t c = 0; c < columns; ++c) totals[c] = Op::join(totals[c], static_cast<double>(sums[c]));
    }
  } else {
    for (std::size_t r = 0; r < rows; ++r, x += row_stride) {
      for (std::size_t c = 0; c < columns; ++c) totals[c] = Op::join(totals[c], static_cast<double>(x[c]));
    }
  }
}

template <typename Op, std::size_t kLength>
void runs_of(std::size_t count, const float* x, double* totals) {
  for (std::size_t i = 0; i < count; ++i) {
    double total = Op::kStart;
    for (std::size_t k = 0; k < kLength; ++k) total = Op::join(total, static_cast<double>(x[i * kLength + k]));
    totals[i] = total;
  }
}

template <typename Op>
void short_runs(std::size_t n, std::size_t count, const float* x, double* totals) {
  if (n == 1) return runs_of<Op, 1>(count, x, totals);
  if (n == 2) return runs_of<Op, 2>(count, x, totals);
  if (n == 3) return runs_of<Op, 3>(count, x, totals);
  runs_of<Op, kShortRun>(count, x, totals);
}

template <typename Op>
constexpr ReduceKernel make() {
  return {Op::kStart, run<Op>, columns<Op>, short_runs<Op>, Op::join};
}

}  // namespace
}  // namespace jitney::kernels
