// layer_norm, rms_norm, instance_norm and lrn.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "ops/access.h"
#include "ops/broadcast.h"
#include "ops/families.h"
#include "ops/operands.h"

namespace jitney {
namespace {

constexpr std::array<AttributeSpec, 2> kLayerNormAttributes = {{
    {"axis", AttributeType::integer},
    {"epsilon", AttributeType::number},
}};
constexpr std::array<AttributeSpec, 2> kInstanceNormAttributes = {{
    {"epsilon", AttributeType::number},
    {"groups", AttributeType::integer},
}};
constexpr std::array<AttributeSpec, 4> kLrnAttributes = {{
    {"size", AttributeType::integer, true},
    {"alpha", AttributeType::number},
    {"beta", AttributeType::number},
    {"bias", AttributeType::number},
}};

void expect_float(const InferContext& ctx) {
  ctx.expect_dtype(0, {DType::float32, DType::float16, DType::bfloat16, DType::float64});
}

/// Mean and 1/√(variance + ε) of a list.
struct Moments {
  double mean, inv_std;
};

Moments moments_of(const double* x, std::int64_t count, double epsilon) {
  const auto n = static_cast<double>(count);
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += x[i];
  const double mean = sum / n;
  double squares = 0;
  for (std::int64_t i = 0; i < count; ++i) squares += (x[i] - mean) * (x[i] - mean);
  return {mean, 1 / std::sqrt(squares / n + epsilon)};
}

/// Scale and bias must broadcast to x without widening it.
void check_broadcast(const InferContext& ctx, std::size_t operand) {
  const SymShape& x = ctx.shape(0);
  if (!ctx.has(operand) || !ctx.shape(operand).ranked) return;
  const SymShape& part = ctx.shape(operand);
  bool fits = part.rank() <= x.rank();
  for (std::size_t i = 1; fits && i <= part.rank(); ++i) {
    const Dim& size = part.dims[part.rank() - i];
    fits = may_equal(size, Dim(1)) || may_equal(size, x.dims[x.rank() - i]);
  }
  if (!fits) {
    ctx.fail("operand " + std::to_string(operand) + " has shape " + describe(part) + ", which does not broadcast to x's " +
                 describe(x),
             "give it the shape of the normalised axes");
  }
}

void infer_layer_norm(InferContext& ctx) {
  expect_float(ctx);
  const SymShape& x = ctx.shape(0);
  SymShape moments;
  for (const std::size_t operand : {1, 2}) expect_dtype_of_first(ctx, operand);
  if (x.ranked) {
    const std::size_t axis = ctx.axis(ctx.node().integer("axis", -1), x.rank());
    for (const std::size_t operand : {1, 2}) check_broadcast(ctx, operand);
    moments = x;
    for (std::size_t i = axis; i < x.rank(); ++i) moments.dims[i] = 1;
  }
  ctx.set(0, ctx.dtype(0), x);
  // ONNX's stash type 1: the moments are float32 whatever x is.
  for (std::size_t output = 1; output < ctx.output_count(); ++output) ctx.set(output, DType::float32, moments);
}

/// A scale or bias as one number per element of a tensor of shape `shape`.
std::vector<double> spread(const TensorView& part, const Shape& shape) {
  TensorView view = part;
  view.strides = broadcast_strides(part, shape);
  view.shape = shape;
  return read_numbers(view);
}

void compute_layer_norm(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const std::int64_t given = ctx.node().integer("axis", -1);
  const auto axis = static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(x.shape.size()) : given);
  const std::int64_t rows = product(x.shape, 0, axis);
  const std::int64_t length = product(x.shape, axis, x.shape.size());
  const double epsilon = ctx.node().number("epsilon", 1e-5);
  const std::vector<double> input = read_numbers(x);
  std::vector<double> result(input.size());
  std::vector<double> means(static_cast<std::size_t>(rows));
  std::vector<double> inv_stds(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    const double* from = input.data() + row * length;
    const Moments moments = moments_of(from, length, epsilon);
    for (std::int64_t i = 0; i < length; ++i) result[row * length + i] = (from[i] - moments.mean) * moments.inv_std;
    means[row] = moments.mean;
    inv_stds[row] = moments.inv_std;
  }
  if (ctx.has(1)) {
    const std::vector<double> scale = spread(ctx.input(1), x.shape);
    for (std::size_t i = 0; i < result.size(); ++i) result[i] *= scale[i];
  }
  if (ctx.has(2)) {
    const std::vector<double> bias = spread(ctx.input(2), x.shape);
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += bias[i];
  }
  if (ctx.wants(0)) write_dense(ctx.output(0), result);
  if (ctx.wants(1)) write_dense(ctx.output(1), means);
  if (ctx.wants(2)) write_dense(ctx.output(2), inv_stds);
}

void infer_rms_norm(InferContext& ctx) {
  expect_float(ctx);
  expect_dtype_of_first(ctx, 1);
  if (ctx.shape(0).ranked) {
    (void)ctx.axis(ctx.node().integer("axis", -1), ctx.shape(0).rank());
    check_broadcast(ctx, 1);
  }
  ctx.set(0, ctx.dtype(0), ctx.shape(0));
}

void compute_rms_norm(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const std::int64_t given = ctx.node().integer("axis", -1);
  const auto axis = static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(x.shape.size()) : given);
  const auto length = static_cast<std::size_t>(product(x.shape, axis, x.shape.size()));
  const double epsilon = ctx.node().number("epsilon", 1e-5);
  std::vector<double> values = read_numbers(x);
  for (std::size_t first = 0; first < values.size(); first += length) {
    double squares = 0;
    for (std::size_t i = 0; i < length; ++i) squares += values[first + i] * values[first + i];
    const double factor = 1 / std::sqrt(squares / static_cast<double>(length) + epsilon);
    for (std::size_t i = 0; i < length; ++i) values[first + i] *= factor;
  }
  if (ctx.has(1)) {
    const std::vector<double> scale = spread(ctx.input(1), x.shape);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= scale[i];
  }
  write_dense(ctx.output(0), values);
}

void infer_instance_norm(InferContext& ctx) {
  expect_float(ctx);
  SymShape y = ctx.shape(0);
  if (y.ranked && y.rank() < 2) ctx.fail("x has shape " + describe(y) + ", but needs a batch and a channel axis");
  for (const std::size_t operand : {1, 2}) {
    expect_dtype_of_first(ctx, operand);
    const SymShape& part = ctx.shape(operand);
    if (!y.ranked || !part.ranked) continue;
    if (part.rank() != 1 || !may_equal(part.dims[0], y.dims[1])) {
      ctx.fail("operand " + std::to_string(operand) + " has shape " + describe(part) + ", but x of shape " + describe(y) +
                   " has " + to_string(y.dims[1], {}) + " channels",
               "give a vector with one number per channel");
    }
    y.dims[1] = merge(ctx, y.dims[1], part.dims[0], "the number of channels");
  }
  const std::int64_t groups = ctx.node().integer("groups", 0);
  const bool divides = groups <= 0 || !y.ranked || !y.dims[1].is_constant() || y.dims[1].value() % groups == 0;
  if (groups < 0 || !divides) {
    ctx.fail(std::to_string(groups) + " groups cannot be made of " + (y.ranked ? to_string(y.dims[1], {}) : "the") + " channels",
             "give a number of groups that divides the channels, or 0 for a group of each channel");
  }
  ctx.set(0, ctx.dtype(0), std::move(y));
}

void compute_instance_norm(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const std::int64_t channels = x.shape[1];
  const std::int64_t pixels = product(x.shape, 2, x.shape.size());
  const std::int64_t given = ctx.node().integer("groups", 0), groups = given == 0 ? channels : given;
  if (groups == 0 || pixels == 0) return;
  const std::int64_t length = channels / groups * pixels;
  const double epsilon = ctx.node().number("epsilon", 1e-5);
  const std::vector<double> scale = read_numbers(ctx.input(1));
  const std::vector<double> bias = read_numbers(ctx.input(2));
  std::vector<double> values = read_numbers(x);
  for (std::int64_t group = 0; group < x.shape[0] * groups; ++group) {
    double* row = values.data() + group * length;
    const Moments moments = moments_of(row, length, epsilon);
    for (std::int64_t i = 0; i < length; ++i) {
      const auto c = static_cast<std::size_t>((group * length + i) / pixels % channels);
      row[i] = (row[i] - moments.mean) * moments.inv_std * scale[c] + bias[c];
    }
  }
  write_dense(ctx.output(0), values);
}

void infer_lrn(InferContext& ctx) {
  expect_float(ctx);
  const SymShape& x = ctx.shape(0);
  if (x.ranked && x.rank() < 2) ctx.fail("x has shape " + describe(x) + ", but needs a batch and a channel axis");
  if (ctx.node().integer("size") < 1)
    ctx.fail("size is " + std::to_string(ctx.node().integer("size")) + "; it must be at least 1");
  ctx.set(0, ctx.dtype(0), x);
}

void compute_lrn(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const std::int64_t channels = x.shape[1];
  const std::int64_t length = product(x.shape, 2, x.shape.size());
  // ONNX: floor((size − 1) / 2) channels before and ceil((size − 1) / 2) after. No window is wider than the channels.
  const std::int64_t size = ctx.node().integer("size");
  const std::int64_t before = std::min((size - 1) / 2, channels);
  const std::int64_t after = std::min(size / 2, channels);
  const double alpha = ctx.node().number("alpha", 1e-4) / static_cast<double>(size);
  const double beta = ctx.node().number("beta", 0.75);
  const double bias = ctx.node().number("bias", 1.0);
  const std::vector<double> input = read_numbers(x);
  std::vector<double> result(input.size());
  for (std::int64_t n = 0; n < x.shape[0]; ++n) {
    const double* from = input.data() + n * channels * length;
    double* to = result.data() + n * channels * length;
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t i = 0; i < length; ++i) {
        double squares = 0;
        for (std::int64_t k = std::max<std::int64_t>(c - before, 0); k <= std::min(c + after, channels - 1); ++k) {
          squares += from[k * length + i] * from[k * length + i];
        }
        to[c * length + i] = from[c * length + i] / std::pow(bias + alpha * squares, beta);
      }
    }
  }
  write_dense(ctx.output(0), result);
}

constexpr std::array<OpDef, 4> kOps = {{
    {"layer_norm", {1, 3}, {1, 3}, kLayerNormAttributes, infer_layer_norm, compute_layer_norm},
    {"rms_norm", {1, 2}, {1, 1}, kLayerNormAttributes, infer_rms_norm, compute_rms_norm},
    {"instance_norm", {3, 3}, {1, 1}, kInstanceNormAttributes, infer_instance_norm, compute_instance_norm},
    {"lrn", {1, 1}, {1, 1}, kLrnAttributes, infer_lrn, compute_lrn},
}};

}  // namespace

std::span<const OpDef> norm_ops() { return kOps; }

}  // namespace jitney
