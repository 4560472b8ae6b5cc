// Pooling windows, written once for whichever V was included before. Included by f32_pool_*.cpp only.
#pragma once

#include <limits>

#include "cpu/kernels/pool/pool.h"

namespace jitney::kernels {
namespace {

struct Max {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  static V join(V a, V b) { return max(a, b); }
};

struct Sum {
  static constexpr float kStart = 0.0F;
  static V join(V a, V b) { return a + b; }
};

/// Four vectors of channels from c on; their results go to y + c.
template <typename Op, typename Finish>
inline void pool_four(const PoolWindow& window, std::size_t c, float* y, const Finish& finish) {
  V total0 = set(Op::kStart), total1 = total0, total2 = total0, total3 = total0;
  for (std::size_t r = 0; r < window.row_count; ++r) {
    const float* x = window.rows[r] + c;
    V a = load(x), b = load(x + kLanes), d = load(x + 2 * kLanes), e = load(x + 3 * kLanes);
    for (std::size_t i = 1; i < window.columns; ++i) {
      x += window.column_step;
      a = Op::join(a, load(x));
      b = Op::join(b, load(x + kLanes));
      d = Op::join(d, load(x + 2 * kLanes));
      e = Op::join(e, load(x + 3 * kLanes));
    }
    total0 = Op::join(total0, a);
    total1 = Op::join(total1, b);
    total2 = Op::join(total2, d);
    total3 = Op::join(total3, e);
  }
  store(y + c, finish(total0));
  store(y + c + kLanes, finish(total1));
  store(y + c + 2 * kLanes, finish(total2));
  store(y + c + 3 * kLanes, finish(total3));
}

template <typename Op, typename Finish>
void pool(PoolWindow window, float* y, const Finish& finish) {
  if (window.columns == 0) window.row_count = 0;
  std::size_t c = 0;
  for (; c + 4 * kLanes <= window.channels; c += 4 * kLanes) pool_four<Op>(window, c, y, finish);
  for_each_vector(window.channels - c, [&](std::size_t at, auto part) {
    V total = set(Op::kStart);
    for (std::size_t r = 0; r < window.row_count; ++r) {
      const float* x = window.rows[r] + c + at;
      V row = part.load(x);
      for (std::size_t i = 1; i < window.columns; ++i) {
        x += window.column_step;
        row = Op::join(row, part.load(x));
      }
      total = Op::join(total, row);
    }
    part.store(y + c + at, finish(total));
  });
}

void max_window(const PoolWindow& window, float* y) {
  pool<Max>(window, y, [](V total) { return total; });
}

void average_window(const PoolWindow& window, float count, float* y) {
  const V divisor = set(count);
  pool<Sum>(window, y, [divisor](V total) { return total / divisor; });
}

}  // namespace
}  // namespace jitney::kernels
