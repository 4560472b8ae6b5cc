// Which input elements each output element of a resize reads along one axis, and with what weights.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/op.h"

namespace jitney {

/// Resizing is separable: along each axis, output o is Σ weight[t] · input[index[t]] over its taps.
struct ResizeAxis {
  std::int64_t input = 0;
  std::int64_t output = 0;
  /// Every output is the input of the same index; the lists below are empty then.
  bool identity = true;
  std::int64_t taps = 1;
  std::vector<std::int64_t> index;  // output × taps, clamped into the input
  std::vector<double> weight;       // output × taps, summing to 1; empty for mode nearest, which has one tap
  /// tf_crop_and_resize: outputs that lie outside the input and get the extrapolation value; empty for other coordinates.
  std::vector<bool> outside;
};

/// Operands of resize besides x, in their order; dtype `undefined` or no elements: left out.
struct ResizeOperands {
  TensorView sizes, scales, roi;
};

/// All axes of x for concrete shapes. Throws Error(invalid_input) where the operands contradict each other or x.
std::vector<ResizeAxis> resize_axes(const Node& node, const Shape& input, const ResizeOperands& operands);

/// What sizes or scales say about the output, one entry per axis of x.
struct ResizeTarget {
  std::vector<float> scale;
  std::vector<std::int64_t> output;
};
ResizeTarget resize_target(const Node& node, const Shape& input, const ResizeOperands& operands);

/// The axes that sizes, scales and roi speak of: the attribute's, or all.
std::vector<std::size_t> resized_axes(const Node& node, std::size_t rank);

}  // namespace jitney
