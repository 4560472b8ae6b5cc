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

void PointTaps::combine(std::span<const AxisTaps> axes, const Shape& sizes) {
  offset.assign(1, 0);
  weight.assign(1, 1);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const AxisTaps& taps = axes[axis];
    const std::size_t before = offset.size();
    // Each tap of this axis continues each choice of the axes before it.
    for (std::size_t i = 0; i < before; ++i) {
      const std::int64_t base = offset[i] * sizes[axis];
      const double so_far = weight[i];
      for (std::size_t k = 0; k < taps.count; ++k) {
        if (taps.index[k] < 0 || taps.weight[k] == 0) continue;
        offset.push_back(base + taps.index[k]);
        weight.push_back(so_far * taps.weight[k]);
      }
    }
    offset.erase(offset.begin(), offset.begin() + static_cast<std::ptrdiff_t>(before));
    weight.erase(weight.begin(), weight.begin() + static_cast<std::ptrdiff_t>(before));
  }
}

}  // namespace jitney
