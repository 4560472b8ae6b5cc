// Pooling in float32 over channels-last input.
#include "cpu/kernels/pool/pool.h"

#include <limits>

#include "cpu/kernels/vec4.h"

namespace jitney::kernels {
namespace {

struct Max {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  template <typename V>
  static V join(V a, V b) {
    return max_or_nan(a, b);
  }
};

struct Sum {
  static constexpr float kStart = 0.0F;
  template <typename V>
  static V join(V a, V b) {
    return a + b;
  }
};

/// Sixteen channels from c on.
template <typename Op>
void pool_16(const PoolWindow& window, std::size_t c, Vec4 total[4]) {
  for (int i = 0; i < 4; ++i) total[i] = all4(Op::kStart);
  for (std::size_t r = 0; r < window.row_count; ++r) {
    const float* x = window.rows[r] + c;
    Vec4 a = all4(Op::kStart), b = a, d = a, e = a;
    for (std::size_t i = 0; i < window.columns; ++i, x += window.column_step) {
      a = Op::join(a, load4(x));
      b = Op::join(b, load4(x + 4));
      d = Op::join(d, load4(x + 8));
      e = Op::join(e, load4(x + 12));
    }
    total[0] = Op::join(total[0], a);
    total[1] = Op::join(total[1], b);
    total[2] = Op::join(total[2], d);
    total[3] = Op::join(total[3], e);
  }
}

/// One vector of channels, or one channel.
template <typename Op, typename V, typename Load>
V pool_one(const PoolWindow& window, std::size_t c, V start, const Load& load) {
  V total = start;
  for (std::size_t r = 0; r < window.row_count; ++r) {
    const float* x = window.rows[r] + c;
    V row = start;
    for (std::size_t i = 0; i < window.columns; ++i, x += window.column_step) row = Op::join(row, load(x));
    total = Op::join(total, row);
  }
  return total;
}

template <typename Op, typename Finish>
void pool(const PoolWindow& window, float* y, const Finish& finish) {
  std::size_t c = 0;
  for (; c + 16 <= window.channels; c += 16) {
    Vec4 total[4];
    pool_16<Op>(window, c, total);
    for (std::size_t i = 0; i < 4; ++i) store4(y + c + 4 * i, finish(total[i]));
  }
  for (; c + 4 <= window.channels; c += 4) store4(y + c, finish(pool_one<Op>(window, c, all4(Op::kStart), load4)));
  for (; c < window.channels; ++c) y[c] = finish(pool_one<Op>(window, c, Op::kStart, [](const float* x) { return *x; }));
}

}  // namespace

void f32_max_pool(const PoolWindow& window, float* y) noexcept {
  pool<Max>(window, y, [](auto total) { return total; });
}

void f32_average_pool(const PoolWindow& window, float count, float* y) noexcept {
  pool<Sum>(window, y, [count](auto total) { return total / count; });
}

}  // namespace jitney::kernels
