// Reads between pixels: which elements a position that need not be whole reads along each axis, and with what weights.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "jitney/tensor.h"

namespace jitney {

/// Up to four elements of one axis; an index of −1 stands for a zero outside.
struct AxisTaps {
  std::size_t count = 0;
  std::array<std::int64_t, 4> index{};
  std::array<double, 4> weight{};
};

/// The two neighbours of `x`, linearly; zeros outside [0, size).
AxisTaps linear_taps(double x, std::int64_t size);
/// Four neighbours, by Keys' cubic convolution with a = −0.75; indices are not limited to any size.
AxisTaps cubic_taps(double x);

/// Elements of a dense block that one point reads, and their weights.
class PointTaps {
 public:
  explicit PointTaps(const Shape& sizes);
  /// The product of all axes' taps; zeros are left out.
  void combine(const std::vector<AxisTaps>& axes);
  double sum(const double* block) const noexcept {
    double total = 0;
    for (std::size_t i = 0; i < count_; ++i) total += weight_[i] * block[offset_[i]];
    return total;
  }

 private:
  Shape strides_;
  std::size_t count_ = 0;
  std::vector<std::int64_t> offset_;
  std::vector<double> weight_;
};

/// Arithmetic as the operands' dtype has it: after each step a coordinate is rounded to float32, unless it comes from float64.
/// Which pixel is nearest, or how many samples fit, can hang on the last bit.
class CoordinatePrecision {
 public:
  explicit CoordinatePrecision(DType dtype) : wide_(dtype == DType::float64) {}
  double operator()(double x) const noexcept { return wide_ ? x : static_cast<double>(static_cast<float>(x)); }

 private:
  bool wide_;
};

}  // namespace jitney
