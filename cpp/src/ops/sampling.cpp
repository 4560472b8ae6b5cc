// Linear and cubic weights along one axis, and their products over several.
#include "ops/sampling.h"

#include <cmath>

namespace jitney {

AxisTaps linear_taps(double x, std::int64_t size) {
  AxisTaps taps;
  // Also false for NaN.
  if (!(x > -1 && x < static_cast<double>(size))) return taps;
  const double floor = std::floor(x);
  const auto low = static_cast<std::int64_t>(floor);
  taps.count = 2;
  taps.index = {low, low + 1 < size ? low + 1 : -1, 0, 0};
  taps.weight = {1 - (x - floor), x - floor, 0, 0};
  return taps;
}

AxisTaps cubic_taps(double x) {
  constexpr double a = -0.75;
  const double floor = std::floor(x), t = x - floor;
  const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  const auto first = static_cast<std::int64_t>(floor) - 1;
  return {4, {first, first + 1, first + 2, first + 3}, {far(t + 1), near(t), near(1 - t), far(2 - t)}};
}

PointTaps::PointTaps(const Shape& sizes) : strides_(dense_strides(sizes)) {
  std::size_t most = 1;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) most *= AxisTaps{}.index.size();
  offset_.resize(most);
  weight_.resize(most);
}

void PointTaps::combine(const std::vector<AxisTaps>& axes) {
  offset_[0] = 0;
  weight_[0] = 1;
  count_ = 1;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const AxisTaps& taps = axes[axis];
    const std::size_t before = count_;
    bool first = true;
    // The first tap that counts takes the places of the choices so far, last of all; the others go behind them.
    std::size_t kept = taps.count;
    for (std::size_t k = 0; k < taps.count; ++k) {
      if (taps.index[k] < 0 || taps.weight[k] == 0) continue;
      if (first) {
        first = false;
        kept = k;
        continue;
      }
      for (std::size_t i = 0; i < before; ++i) {
        offset_[count_] = offset_[i] + taps.index[k] * strides_[axis];
        weight_[count_++] = weight_[i] * taps.weight[k];
      }
    }
    if (first) {
      count_ = 0;
      return;
    }
    for (std::size_t i = 0; i < before; ++i) {
      offset_[i] += taps.index[kept] * strides_[axis];
      weight_[i] *= taps.weight[kept];
    }
  }
}

}  // namespace jitney
