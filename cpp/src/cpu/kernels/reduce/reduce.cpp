// Reductions in float32.
#include "cpu/kernels/reduce/reduce.h"

#include <limits>

#include "cpu/kernels/vec4.h"

namespace jitney::kernels {
namespace {

/// Elements that are summed in float32 before they join the total in float64.
constexpr std::size_t kBlock = 512;
constexpr std::size_t kRowBlock = 64;

struct Sum {
  using Lane = float;
  static constexpr double kStart = 0.0;
  static double join(double total, double x) { return total + x; }
  template <typename V>
  static V step(V a, V x) {
    return a + x;
  }
};

struct Max {
  using Lane = float;
  static constexpr double kStart = -std::numeric_limits<double>::infinity();
  static double join(double total, double x) { return x > total || x != x ? x : total; }
  template <typename V>
  static V step(V a, V x) {
    return max_or_nan(a, x);
  }
};

struct Min {
  using Lane = float;
  static constexpr double kStart = std::numeric_limits<double>::infinity();
  static double join(double total, double x) { return x < total || x != x ? x : total; }
  template <typename V>
  static V step(V a, V x) {
    return min_or_nan(a, x);
  }
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
    const Vec4 start = all4(static_cast<float>(Op::kStart));
    for (; n >= 16;) {
      const std::size_t block = n < kBlock ? n / 16 * 16 : kBlock;
      Vec4 a = start, b = start, c = start, d = start;
      for (std::size_t i = 0; i < block; i += 16) {
        a = Op::step(a, load4(x + i));
        b = Op::step(b, load4(x + i + 4));
        c = Op::step(c, load4(x + i + 8));
        d = Op::step(d, load4(x + i + 12));
      }
      const Vec4 joined = Op::step(Op::step(a, b), Op::step(c, d));
      for (int lane = 0; lane < 4; ++lane) total = Op::join(total, static_cast<double>(joined[lane]));
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

/// Up to kRowBlock rows of four columns.
template <typename Op>
void four_columns(std::size_t rows, std::ptrdiff_t row_stride, const float* x, double* totals) {
  Vec4 sum = all4(static_cast<float>(Op::kStart));
  for (std::size_t r = 0; r < rows; ++r, x += row_stride) sum = Op::step(sum, load4(x));
  for (int lane = 0; lane < 4; ++lane) totals[lane] = Op::join(totals[lane], static_cast<double>(sum[lane]));
}

/// The same for one column.
template <typename Op>
void one_column(std::size_t rows, std::ptrdiff_t row_stride, const float* x, double* total) {
  auto sum = static_cast<float>(Op::kStart);
  for (std::size_t r = 0; r < rows; ++r, x += row_stride) sum = Op::step(sum, *x);
  *total = Op::join(*total, static_cast<double>(sum));
}

template <typename Op>
void columns(std::size_t rows, std::ptrdiff_t row_stride, std::size_t columns, const float* x, double* totals) {
  if constexpr (sizeof(typename Op::Lane) == sizeof(float)) {
    for (std::size_t first = 0; first < rows; first += kRowBlock) {
      const std::size_t some = rows - first < kRowBlock ? rows - first : kRowBlock;
      const float* block = x + static_cast<std::ptrdiff_t>(first) * row_stride;
      std::size_t c = 0;
      for (; c + 4 <= columns; c += 4) four_columns<Op>(some, row_stride, block + c, totals + c);
      for (; c < columns; ++c) one_column<Op>(some, row_stride, block + c, totals + c);
    }
  } else {
    for (std::size_t r = 0; r < rows; ++r, x += row_stride) {
      for (std::size_t c = 0; c < columns; ++c) totals[c] = Op::join(totals[c], static_cast<double>(x[c]));
    }
  }
}

template <typename Op>
constexpr ReduceKernel make() {
  return {Op::kStart, run<Op>, columns<Op>, Op::join};
}

}  // namespace

const ReduceKernel& reduce_kernel(ReduceOp op) noexcept {
  static constexpr ReduceKernel kernels[] = {make<Sum>(), make<AbsSum>(), make<SquareSum>(), make<Max>(), make<Min>()};
  return kernels[static_cast<std::size_t>(op)];
}

}  // namespace jitney::kernels
