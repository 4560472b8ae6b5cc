// Where windows lie: strides, dilations, pads and output sizes of convolutions and pools, resolved from a node's attributes.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "ops/op.h"

namespace jitney {

/// One entry per spatial axis in every member. Tap k of window o reads input o·stride − pad_begin + k·dilation; for
/// conv_transpose it is the other way round: input i adds to output i·stride − pad_begin + k·dilation.
struct WindowGeometry {
  Shape input, kernel, stride, dilation, pad_begin, pad_end, output;

  std::size_t rank() const noexcept { return input.size(); }
  /// Size of the kernel with its gaps.
  std::int64_t extent(std::size_t axis) const noexcept { return (kernel[axis] - 1) * dilation[axis] + 1; }
};

/// Geometry of a conv, max_pool, average_pool or lp_pool node for concrete sizes of the spatial axes; conv's kernel comes from
/// its weights' shape, a pool's from its attribute. Throws Error(invalid_model) with the numbers where they do not fit.
WindowGeometry window_geometry(const Node& node, const Shape& input, const Shape& kernel);
/// The same for conv_transpose, whose pads follow from `output_shape` if that is given.
WindowGeometry transposed_window_geometry(const Node& node, const Shape& input, const Shape& kernel);

/// Output sizes over Dims: exact for constants and wherever the stride divides the symbols' coefficients, else unknown.
std::vector<Dim> infer_window(const InferContext& ctx, std::span<const Dim> input, std::span<const Dim> kernel);
std::vector<Dim> infer_transposed_window(const InferContext& ctx, std::span<const Dim> input, std::span<const Dim> kernel);

/// Where the taps of one window (row-major index among the outputs of all spatial axes) lie: for each tap, row-major, the
/// row-major index into the spatial axes of the input, or one of the two numbers below.
void tap_sources(const WindowGeometry& geometry, std::int64_t window, std::vector<std::int64_t>& sources);
inline constexpr std::int64_t kInPadding = -1;
/// Behind the padding, where only windows that ceil_mode adds reach.
inline constexpr std::int64_t kBeyondPadding = -2;

inline constexpr std::array<AttributeSpec, 4> kWindowAttributes = {{
    {"strides", AttributeType::integers},
    {"dilations", AttributeType::integers},
    {"pads", AttributeType::integers},
    {"auto_pad", AttributeType::text, false, "explicit|same_upper|same_lower|valid"},
}};

}  // namespace jitney
