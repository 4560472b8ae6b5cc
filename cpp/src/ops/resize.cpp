// resize: nearest, linear and cubic interpolation over any axes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "ops/access.h"
#include "ops/broadcast.h"
#include "ops/families.h"
#include "ops/operands.h"
#include "ops/resize_axis.h"
#include "ops/rules.h"

namespace jitney {
namespace {

constexpr std::size_t kSizes = 1, kScales = 2, kRoi = 3;

constexpr std::array<AttributeSpec, 10> kAttributes = {{
    {"mode", AttributeType::text, false, "nearest|linear|cubic"},
    {"coordinates", AttributeType::text, false,
     "half_pixel|half_pixel_symmetric|pytorch_half_pixel|align_corners|asymmetric|tf_crop_and_resize|tf_half_pixel_for_nn"},
    {"fractional_length", AttributeType::integer},
    {"nearest_mode", AttributeType::text, false, "round_prefer_floor|round_prefer_ceil|floor|ceil|simple"},
    {"cubic_a", AttributeType::number},
    {"antialias", AttributeType::integer},
    {"exclude_outside", AttributeType::integer},
    {"extrapolation_value", AttributeType::number},
    {"axes", AttributeType::integers},
    {"aspect", AttributeType::text, false, "stretch|not_larger|not_smaller"},
}};

bool left_out(const InferContext& ctx, std::size_t operand) {
  if (!ctx.has(operand)) return true;
  const SymShape& shape = ctx.shape(operand);
  return shape.ranked && shape.rank() == 1 && shape.dims[0].is_constant() && shape.dims[0].value() == 0;
}

/// An operand's values for resize_target, or a view of dtype `undefined` if they are not known.
TensorView known_values(const std::vector<std::int64_t>& values) {
  return {const_cast<std::int64_t*>(values.data()), DType::int64, Shape{static_cast<std::int64_t>(values.size())}, Shape{1}};
}
TensorView known_values(const std::vector<double>& values) {
  return {const_cast<double*>(values.data()), DType::float64, Shape{static_cast<std::int64_t>(values.size())}, Shape{1}};
}

/// Output sizes where x or the sizes are symbols: exact for stretched sizes, whole scales and halvings that come out even.
void infer_symbolic(InferContext& ctx, const std::vector<std::size_t>& axes, SymShape& y) {
  if (!left_out(ctx, kSizes)) {
    const auto sizes = ctx.elements(kSizes);
    const bool stretch = ctx.node().text("aspect", "stretch") == "stretch";
    for (std::size_t i = 0; i < axes.size(); ++i) y.dims[axes[i]] = sizes && stretch ? (*sizes)[i] : Dim::unknown();
    return;
  }
  const auto scales = ctx.numbers(kScales);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Dim& size = y.dims[axes[i]];
    const double scale = scales ? (*scales)[i] : 0.0;
    int exponent = 0;
    if (!(scale > 0 && scale < 1.0e9)) {
      size = Dim::unknown();
    } else if (scale == std::floor(scale)) {
      size = size * Dim(static_cast<std::int64_t>(scale));
    } else if (scale < 1 && scale > 1.0e-6 && std::frexp(scale, &exponent) == 0.5) {
      size = floor_div(size, Dim(static_cast<std::int64_t>(1 / scale)));
    } else {
      size = Dim::unknown();
    }
  }
}

void check_operand(const InferContext& ctx, std::size_t operand, std::size_t wanted, const char* what) {
  if (left_out(ctx, operand) || !ctx.shape(operand).ranked) return;
  const SymShape& shape = ctx.shape(operand);
  if (shape.rank() == 1 && may_equal(shape.dims[0], Dim(static_cast<std::int64_t>(wanted)))) return;
  ctx.fail(
      std::string(what) + " has shape " + describe(shape) + ", but must be a vector of " + std::to_string(wanted) + " numbers",
      "give one number per resized axis (roi: two)");
}

void infer_resize(InferContext& ctx) {
  const Node& node = ctx.node();
  const bool nearest = node.text("mode", "nearest") == "nearest";
  const NumberClass kind = number_class(ctx.dtype(0));
  if (!nearest && (kind == NumberClass::none || ctx.dtype(0) == DType::boolean)) {
    ctx.fail("elements of dtype " + std::string(to_string(ctx.dtype(0))) + " cannot be interpolated", "use mode nearest");
  }
  if (nearest && node.integer("antialias", 0) != 0) ctx.fail("mode nearest cannot antialias", "use mode linear or cubic");
  if (left_out(ctx, kSizes) == left_out(ctx, kScales)) {
    ctx.fail(left_out(ctx, kSizes) ? "neither sizes nor scales are given" : "both sizes and scales are given",
             "give one of them");
  }
  if (!left_out(ctx, kSizes)) expect_index(ctx, kSizes);
  for (const std::size_t operand : {kScales, kRoi}) {
    if (!left_out(ctx, operand)) expect_number(ctx, operand);
  }
  SymShape y = ctx.shape(0);
  if (!y.ranked) return ctx.set(0, ctx.dtype(0), std::move(y));
  try {
    const std::vector<std::size_t> axes = resized_axes(node, y.rank());
    check_operand(ctx, kSizes, axes.size(), "sizes");
    check_operand(ctx, kScales, axes.size(), "scales");
    const auto input = constant_shape(y);
    const auto sizes = left_out(ctx, kSizes) ? std::nullopt : ctx.integers(kSizes);
    const auto scales = left_out(ctx, kScales) ? std::nullopt : ctx.numbers(kScales);
    if (node.text("coordinates", "half_pixel") == "tf_crop_and_resize") {
      if (left_out(ctx, kRoi)) ctx.fail("coordinates tf_crop_and_resize lack their roi operand");
      check_operand(ctx, kRoi, 2 * axes.size(), "roi");
    }
    if (input && (sizes || scales)) {
      ResizeOperands operands;
      if (sizes) operands.sizes = known_values(*sizes);
      if (scales) operands.scales = known_values(*scales);
      const ResizeTarget target = resize_target(node, *input, operands);
      for (std::size_t i = 0; i < y.rank(); ++i) {
        if ((*input)[i] == 0 && target.output[i] > 0) {
          ctx.fail("axis " + std::to_string(i) + " is empty and cannot be resized to " + std::to_string(target.output[i]));
        }
        y.dims[i] = target.output[i];
      }
    } else {
      infer_symbolic(ctx, axes, y);
    }
  } catch (const Error& error) {
    ctx.fail(error.message(), error.hint());
  }
  ctx.set(0, ctx.dtype(0), std::move(y));
}

/// Copies whole elements, so that every dtype passes unchanged.
void copy_nearest(const TensorView& x, const TensorView& y, const std::vector<ResizeAxis>& axes) {
  const std::size_t rank = x.shape.size();
  const std::size_t bytes = size_of(x.dtype);
  Shape index(rank, 0);
  for (std::int64_t element = y.shape.elements(); element > 0; --element) {
    std::int64_t from = 0;
    std::int64_t to = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      from += x.strides[i] * (axes[i].identity ? index[i] : axes[i].index[static_cast<std::size_t>(index[i])]);
      to += y.strides[i] * index[i];
    }
    std::memcpy(address(y, to), address(x, from), bytes);
    for (std::size_t i = rank; i-- > 0;) {
      if (++index[i] < y.shape[i]) break;
      index[i] = 0;
    }
  }
}

/// Interpolates a dense tensor along one axis; `shape` becomes the result's.
std::vector<double> interpolate(const std::vector<double>& x, const ResizeAxis& axis, std::size_t which, Shape& shape) {
  const std::int64_t outer = product(shape, 0, which);
  const std::int64_t inner = product(shape, which + 1, shape.size());
  std::vector<double> y(static_cast<std::size_t>(outer * axis.output * inner), 0.0);
  for (std::int64_t block = 0; block < outer; ++block) {
    for (std::int64_t o = 0; o < axis.output; ++o) {
      double* to = y.data() + (block * axis.output + o) * inner;
      if (inner == 1) {
        const double* row = x.data() + block * axis.input;
        for (std::int64_t t = o * axis.taps; t < (o + 1) * axis.taps; ++t) {
          if (axis.weight[t] != 0) *to += axis.weight[t] * row[axis.index[t]];
        }
        continue;
      }
      for (std::int64_t t = 0; t < axis.taps; ++t) {
        const double weight = axis.weight[o * axis.taps + t];
        if (weight == 0) continue;
        const double* from = x.data() + (block * axis.input + axis.index[o * axis.taps + t]) * inner;
        for (std::int64_t i = 0; i < inner; ++i) to[i] += weight * from[i];
      }
    }
  }
  shape[which] = axis.output;
  return y;
}

/// Overwrites all elements whose index along some axis lies outside the crop's input.
void extrapolate(const TensorView& y, const std::vector<ResizeAxis>& axes, double value) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    TensorView slice = y;
    slice.shape[i] = 1;
    for (std::size_t o = 0; o < axes[i].outside.size(); ++o) {
      if (!axes[i].outside[o]) continue;
      slice.data = address(y, y.strides[i] * static_cast<std::int64_t>(o));
      write_dense(slice, std::vector<double>(static_cast<std::size_t>(slice.shape.elements()), value));
    }
  }
}

void compute_resize(const ComputeContext& ctx) {
  const Node& node = ctx.node();
  const TensorView& x = ctx.input(0);
  const TensorView& y = ctx.output(0);
  if (y.shape.elements() == 0) return;  // its other axes may be too long for tables
  ResizeOperands operands;
  if (ctx.has(kSizes)) operands.sizes = ctx.input(kSizes);
  if (ctx.has(kScales)) operands.scales = ctx.input(kScales);
  if (ctx.has(kRoi)) operands.roi = ctx.input(kRoi);
  const std::vector<ResizeAxis> axes = resize_axes(node, x.shape, operands);
  if (node.text("mode", "nearest") == "nearest") {
    copy_nearest(x, y, axes);
  } else {
    std::vector<double> values = read_numbers(x);
    Shape shape = x.shape;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (!axes[i].identity) values = interpolate(values, axes[i], i, shape);
    }
    if (!is_floating(y.dtype)) {
      for (double& value : values) value = std::nearbyint(value);
    }
    write_dense(y, values);
  }
  extrapolate(y, axes, node.number("extrapolation_value", 0.0));
}

constexpr std::array<OpDef, 1> kOps = {{{"resize",
                                         {1, 4},
                                         {1, 1},
                                         kAttributes,
                                         infer_resize,
                                         compute_resize,
                                         nullptr,
                                         (1U << kSizes) | (1U << kScales) | (1U << kRoi)}}};

}  // namespace

std::span<const OpDef> resize_ops() { return kOps; }

}  // namespace jitney
