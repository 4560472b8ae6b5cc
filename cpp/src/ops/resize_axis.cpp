// Coordinates, filters and weights of resize, axis by axis.
#include "ops/resize_axis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "ops/access.h"

namespace jitney {
namespace {

[[noreturn]] void refuse(const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorCode::invalid_input, message, hint);
}

bool given(const TensorView& view) { return view.dtype != DType::undefined && view.shape.elements() > 0; }

void check_count(const char* what, std::size_t got, std::size_t wanted) {
  if (got == wanted) return;
  refuse(std::string(what) + " has " + std::to_string(got) + " numbers, but " + std::to_string(wanted) + " are wanted",
         "give one number per resized axis (roi: two)");
}

std::int64_t whole_size(double size) {
  if (!(size >= 0 && size < 4.0e18)) refuse("an output size of " + std::to_string(size) + " is not possible");
  return static_cast<std::int64_t>(size);
}

/// ⌊input · scale⌋, in float32 as ONNX's shape inference has it, but exact for whole scales and halvings, as symbols need it.
std::int64_t scaled_size(std::int64_t input, float scale) {
  if (!(scale > 0 && std::isfinite(scale))) refuse("a scale is " + std::to_string(scale) + "; it must be positive and finite");
  int exponent = 0;
  if (scale == std::floor(scale) || std::frexp(scale, &exponent) == 0.5F) {
    return whole_size(std::floor(static_cast<double>(input) * static_cast<double>(scale)));
  }
  return whole_size(std::floor(static_cast<float>(input) * scale));
}

/// One scale for all resized axes, so that the aspect ratio stays.
void keep_aspect(const std::vector<std::size_t>& axes, const Shape& input, bool not_larger, ResizeTarget& target) {
  float scale = not_larger ? std::numeric_limits<float>::infinity() : 0.0F;
  for (const std::size_t axis : axes) {
    if (input[axis] == 0) continue;
    scale = not_larger ? std::min(scale, target.scale[axis]) : std::max(scale, target.scale[axis]);
  }
  for (const std::size_t axis : axes) {
    if (input[axis] == 0) continue;
    target.scale[axis] = scale;
    target.output[axis] = whole_size(std::round(scale * static_cast<float>(input[axis])));
  }
}

/// An axis as the coordinate formulas see it. They are evaluated in float32, as ONNX Runtime does: exported models rely on
/// which side of a tie a coordinate falls.
struct Coordinates {
  enum class Kind { half_pixel, symmetric, pytorch, align_corners, asymmetric, crop, half_pixel_for_nn };
  Kind kind;
  float scale, input, output, start, end;

  /// Finite even where a wild region of interest overflows.
  float operator()(std::int64_t index) const {
    const float x = formula(static_cast<float>(index));
    return std::isfinite(x) ? x : -std::numeric_limits<float>::max();
  }

  float formula(float x) const {
    switch (kind) {
      case Kind::half_pixel:
        return (x + 0.5F) / scale - 0.5F;
      case Kind::symmetric: {
        const float offset = input / 2 * (1 - output / (scale * input));
        return static_cast<float>(offset + (x + 0.5) / scale - 0.5);
      }
      case Kind::pytorch:
        return output > 1 ? (x + 0.5F) / scale - 0.5F : 0.0F;
      case Kind::align_corners:
        return output > 1 ? x * (input - 1) / (output - 1) : 0.0F;
      case Kind::asymmetric:
        return x / scale;
      case Kind::crop:
        return output > 1 ? start * (input - 1) + x * (end - start) * (input - 1) / (output - 1)
                          : 0.5F * (start + end) * (input - 1);
      case Kind::half_pixel_for_nn:
        return (x + 0.5F) / scale;
    }
    return 0;
  }
};

Coordinates::Kind coordinates_of(const Node& node) {
  using Kind = Coordinates::Kind;
  const std::string_view word = node.text("coordinates", "half_pixel");
  if (word == "half_pixel_symmetric") return Kind::symmetric;
  if (word == "pytorch_half_pixel") return Kind::pytorch;
  if (word == "align_corners") return Kind::align_corners;
  if (word == "asymmetric") return Kind::asymmetric;
  if (word == "tf_crop_and_resize") return Kind::crop;
  if (word == "tf_half_pixel_for_nn") return Kind::half_pixel_for_nn;
  return Kind::half_pixel;
}

/// Coordinates are as good as float32 can be, so what lies this close to a tie is taken for one, as ONNX Runtime does.
constexpr double kTie = 1e-6;

double nearest_index(double x, std::string_view mode) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  if (mode == "round_prefer_ceil") return std::floor(x + 0.5 + kTie);
  return std::ceil(x - 0.5 - kTie);
}

double linear_filter(double distance) { return std::max(0.0, 1.0 - std::abs(distance)); }

double cubic_filter(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((x - 5) * x + 8) * x * a - 4 * a;
  return 0;
}

void fill_nearest(const Node& node, const Coordinates& coordinates, ResizeAxis& axis) {
  std::string_view mode = node.text("nearest_mode", "round_prefer_floor");
  if (mode == "simple") mode = coordinates.scale < 1 ? "ceil" : "floor";
  const auto last = static_cast<double>(axis.input - 1);
  for (std::int64_t o = 0; o < axis.output; ++o) {
    axis.index.push_back(static_cast<std::int64_t>(std::clamp(nearest_index(coordinates(o), mode), 0.0, last)));
  }
}

void fill_filtered(const Node& node, const Coordinates& coordinates, ResizeAxis& axis) {
  if (axis.output == 0) return;
  const bool cubic = node.text("mode") == "cubic";
  const bool exclude = node.integer("exclude_outside", 0) != 0;
  const double a = node.number("cubic_a", -0.75);
  // Antialiasing stretches the filter over all that one output pixel covers.
  const double shrink = node.integer("antialias", 0) != 0 ? std::min(1.0, static_cast<double>(coordinates.scale)) : 1.0;
  const double reach = (cubic ? 2.0 : 1.0) / shrink;
  axis.taps = 2 * static_cast<std::int64_t>(std::ceil(reach));
  for (std::int64_t o = 0; o < axis.output; ++o) {
    // Far outside, all taps are the border's; the clamp keeps indices small.
    const double x = std::clamp(static_cast<double>(coordinates(o)), -reach - 1, static_cast<double>(axis.input) + reach);
    const std::int64_t first = static_cast<std::int64_t>(std::floor(x)) - axis.taps / 2 + 1;
    const std::size_t begin = axis.weight.size();
    double sum = 0;
    for (std::int64_t i = first; i < first + axis.taps; ++i) {
      const double distance = (static_cast<double>(i) - x) * shrink;
      double weight = cubic ? cubic_filter(distance, a) : linear_filter(distance);
      if (exclude && (i < 0 || i >= axis.input)) weight = 0;
      axis.index.push_back(std::clamp<std::int64_t>(i, 0, axis.input - 1));
      axis.weight.push_back(weight);
      sum += weight;
    }
    if (sum != 0) {
      for (std::size_t t = begin; t < axis.weight.size(); ++t) axis.weight[t] /= sum;
    }
  }
}

}  // namespace

std::vector<std::size_t> resized_axes(const Node& node, std::size_t rank) {
  std::vector<std::size_t> axes;
  const std::vector<std::int64_t>& listed = node.integers("axes");
  if (listed.empty()) {
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  for (const std::int64_t axis : listed) {
    const std::int64_t counted = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
    if (counted < 0 || counted >= static_cast<std::int64_t>(rank)) {
      refuse("axis " + std::to_string(axis) + " is outside the range of a tensor of rank " + std::to_string(rank));
    }
    if (std::find(axes.begin(), axes.end(), static_cast<std::size_t>(counted)) != axes.end()) {
      refuse("axis " + std::to_string(axis) + " is listed twice");
    }
    axes.push_back(static_cast<std::size_t>(counted));
  }
  return axes;
}

ResizeTarget resize_target(const Node& node, const Shape& input, const ResizeOperands& operands) {
  if (given(operands.sizes) == given(operands.scales)) {
    refuse(given(operands.sizes) ? "both sizes and scales are given" : "neither sizes nor scales are given", "give one of them");
  }
  const std::vector<std::size_t> axes = resized_axes(node, input.size());
  ResizeTarget target{std::vector<float>(input.size(), 1.0F), std::vector<std::int64_t>(input.begin(), input.end())};
  if (given(operands.scales)) {
    const std::vector<double> scales = read_numbers(operands.scales);
    check_count("scales", scales.size(), axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      target.scale[axes[i]] = static_cast<float>(scales[i]);
      target.output[axes[i]] = scaled_size(input[axes[i]], target.scale[axes[i]]);
    }
    return target;
  }
  const std::vector<std::int64_t> sizes = read_integers(operands.sizes);
  check_count("sizes", sizes.size(), axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = axes[i];
    if (sizes[i] < 0) refuse("a size is " + std::to_string(sizes[i]) + "; it must not be negative");
    target.output[axis] = sizes[i];
    if (input[axis] > 0) target.scale[axis] = static_cast<float>(sizes[i]) / static_cast<float>(input[axis]);
  }
  const std::string_view aspect = node.text("aspect", "stretch");
  if (aspect != "stretch") keep_aspect(axes, input, aspect == "not_larger", target);
  return target;
}

std::vector<ResizeAxis> resize_axes(const Node& node, const Shape& input, const ResizeOperands& operands) {
  using Kind = Coordinates::Kind;
  const Kind kind = coordinates_of(node);
  const ResizeTarget target = resize_target(node, input, operands);
  std::vector<float> starts(input.size(), 0.0F);
  std::vector<float> ends(input.size(), 1.0F);
  if (kind == Kind::crop) {
    if (!given(operands.roi)) refuse("coordinates tf_crop_and_resize lack their roi operand");
    const std::vector<std::size_t> axes = resized_axes(node, input.size());
    const std::vector<double> roi = read_numbers(operands.roi);
    check_count("roi", roi.size(), 2 * axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      starts[axes[i]] = static_cast<float>(roi[i]);
      ends[axes[i]] = static_cast<float>(roi[axes.size() + i]);
    }
  }
  // From opset 19 on, what a scale makes of a length need not be whole where corners are aligned.
  const bool fractional = kind == Kind::align_corners && given(operands.scales) && node.integer("fractional_length", 0) != 0;
  std::vector<ResizeAxis> axes(input.size());
  for (std::size_t i = 0; i < input.size(); ++i) {
    ResizeAxis& axis = axes[i];
    axis.input = input[i];
    axis.output = target.output[i];
    if (axis.input == 0 && axis.output > 0) {
      refuse("axis " + std::to_string(i) + " is empty and cannot be resized to " + std::to_string(axis.output));
    }
    axis.identity =
        axis.input == axis.output && (kind == Kind::crop ? starts[i] == 0.0F && ends[i] == 1.0F : target.scale[i] == 1.0F);
    if (axis.identity) continue;
    const auto length = static_cast<float>(axis.input);
    const Coordinates coordinates{kind,      target.scale[i],
                                  length,    fractional ? target.scale[i] * length : static_cast<float>(axis.output),
                                  starts[i], ends[i]};
    if (node.text("mode", "nearest") == "nearest") {
      fill_nearest(node, coordinates, axis);
    } else {
      fill_filtered(node, coordinates, axis);
    }
    for (std::int64_t o = 0; kind == Kind::crop && o < axis.output; ++o) {
      const float x = coordinates(o);
      axis.outside.push_back(!(x >= 0 && x <= static_cast<float>(axis.input - 1)));
    }
  }
  return axes;
}

}  // namespace jitney
