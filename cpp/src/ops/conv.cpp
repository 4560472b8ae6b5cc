// conv: grouped, dilated convolution of any rank with the shared epilogue.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "ops/access.h"
#include "ops/broadcast.h"
#include "ops/epilogue.h"
#include "ops/families.h"
#include "ops/operands.h"
#include "ops/window.h"

namespace jitney {
namespace {

constexpr std::array<AttributeSpec, 1> kOwnAttributes = {{{"group", AttributeType::integer}}};
constexpr auto kAttributes = join(kOwnAttributes, join(kWindowAttributes, kEpilogueAttributes));

void check_group(const InferContext& ctx, std::int64_t group, const Dim& outputs) {
  if (group < 1) ctx.fail("group is " + std::to_string(group) + "; it must be at least 1");
  if (outputs.is_constant() && outputs.value() % group != 0) {
    ctx.fail("group " + std::to_string(group) + " does not divide the " + std::to_string(outputs.value()) + " output channels");
  }
}

void infer_conv(InferContext& ctx) {
  ctx.expect_dtype(0, {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::int32});
  expect_dtype_of_first(ctx, 1);
  if (!is_floating(ctx.dtype(0)) && parse_epilogue(ctx.node()).activation != Activation::none) {
    ctx.fail("a convolution of integers takes no activation", "cast its result to a floating-point dtype");
  }
  const SymShape& x = ctx.shape(0);
  const SymShape& w = ctx.shape(1);
  SymShape y;
  Dim outputs;
  if (x.ranked || w.ranked) {
    const std::size_t rank = x.ranked ? x.rank() : w.rank();
    if (rank < 3 || (x.ranked && w.ranked && x.rank() != w.rank())) {
      ctx.fail("x has shape " + describe(x) + " and w " + describe(w), "both need the same rank, at least 3");
    }
    const std::int64_t group = ctx.node().integer("group", 1);
    outputs = w.ranked ? w.dims[0] : Dim::unknown();
    check_group(ctx, group, outputs);
    if (x.ranked && w.ranked && !may_equal(x.dims[1], w.dims[1] * Dim(group))) {
      ctx.fail("x has " + to_string(x.dims[1], {}) + " channels, but w of shape " + describe(w) + " with group " +
                   std::to_string(group) + " takes " + to_string(w.dims[1] * Dim(group), {}),
               "feed an input with that many channels on axis 1");
    }
    const std::vector<Dim> unknown(rank - 2);
    y = SymShape::of({x.ranked ? x.dims[0] : Dim::unknown(), outputs});
    for (Dim& size : infer_window(ctx, x.ranked ? spatial_dims(x) : unknown, w.ranked ? spatial_dims(w) : unknown)) {
      y.dims.push_back(std::move(size));
    }
  }
  infer_epilogue(ctx, y, outputs);
  ctx.set(0, ctx.dtype(0), std::move(y));
}

/// Weights of one group as rows of output channels, so that the innermost loop runs over them: [group][channel, tap][output].
std::vector<double> transposed_weights(const TensorView& w, std::int64_t group) {
  const std::vector<double> dense = read_numbers(w);
  const std::int64_t outputs = w.shape[0] / group;
  const std::int64_t depth = product(w.shape, 1, w.shape.size());
  std::vector<double> rows(dense.size());
  for (std::int64_t g = 0; g < group; ++g) {
    for (std::int64_t m = 0; m < outputs; ++m) {
      for (std::int64_t k = 0; k < depth; ++k) rows[(g * depth + k) * outputs + m] = dense[(g * outputs + m) * depth + k];
    }
  }
  return rows;
}

void compute_conv(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const TensorView& w = ctx.input(1);
  const TensorView& y = ctx.output(0);
  const WindowGeometry geometry = window_geometry(ctx.node(), spatial_sizes(x.shape), spatial_sizes(w.shape));
  const std::int64_t group = ctx.node().integer("group", 1);
  const std::int64_t channels = w.shape[1];
  const std::int64_t outputs = w.shape[0] / group;
  const std::int64_t pixels = geometry.input.elements();
  const std::int64_t positions = geometry.output.elements();
  const std::int64_t taps = geometry.kernel.elements();
  const EpilogueValues epilogue(ctx);
  const std::vector<double> input = read_numbers(x);
  const std::vector<double> weights = transposed_weights(w, group);
  std::vector<double> result(static_cast<std::size_t>(y.shape.elements()));
  std::vector<std::int64_t> sources;
  std::vector<double> patch(static_cast<std::size_t>(channels * taps));
  std::vector<double> sums(static_cast<std::size_t>(outputs));
  for (std::int64_t o = 0; o < positions; ++o) {
    tap_sources(geometry, o, sources);
    for (std::int64_t ng = 0; ng < x.shape[0] * group; ++ng) {
      const std::int64_t g = ng % group;
      for (std::int64_t c = 0; c < channels; ++c) {
        const double* plane = input.data() + (ng * channels + c) * pixels;
        for (std::int64_t t = 0; t < taps; ++t) patch[c * taps + t] = sources[t] < 0 ? 0.0 : plane[sources[t]];
      }
      std::fill(sums.begin(), sums.end(), 0.0);
      const double* row = weights.data() + g * channels * taps * outputs;
      for (const double value : patch) {
        for (std::int64_t m = 0; m < outputs; ++m) sums[m] += value * row[m];
        row += outputs;
      }
      for (std::int64_t m = 0; m < outputs; ++m) {
        const std::int64_t element = (ng * outputs + m) * positions + o;
        result[element] = epilogue.apply(sums[m], g * outputs + m, element);
      }
    }
  }
  if (is_floating(y.dtype)) {
    write_dense(y, result);
    return;
  }
  // Sums of products of 8- and 16-bit integers are exact in double, and wrap only here.
  std::vector<std::int64_t> integers(result.size());
  for (std::size_t i = 0; i < result.size(); ++i) integers[i] = static_cast<std::int64_t>(std::fmod(result[i], 4294967296.0));
  write_dense(y, integers);
}

constexpr std::array<OpDef, 1> kOps = {{{"conv", {2, 5}, {1, 1}, kAttributes, infer_conv, compute_conv}}};

}  // namespace

std::span<const OpDef> conv_ops() { return kOps; }

}  // namespace jitney
