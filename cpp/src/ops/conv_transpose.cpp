// conv_transpose: the adjoint of conv, with output padding, forced output sizes and the shared epilogue.
#include <array>
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

constexpr std::array<AttributeSpec, 3> kOwnAttributes = {{
    {"group", AttributeType::integer},
    {"output_padding", AttributeType::integers},
    {"output_shape", AttributeType::integers},
}};
constexpr auto kAttributes = join(kOwnAttributes, join(kWindowAttributes, kEpilogueAttributes));

void infer_conv_transpose(InferContext& ctx) {
  ctx.expect_dtype(0, {DType::float32, DType::float16, DType::bfloat16, DType::float64});
  expect_dtype_of_first(ctx, 1);
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
    if (group < 1) ctx.fail("group is " + std::to_string(group) + "; it must be at least 1");
    if (w.ranked) {
      outputs = w.dims[1] * Dim(group);
      const Dim& channels = w.dims[0];
      if (channels.is_constant() && channels.value() % group != 0) {
        ctx.fail("group " + std::to_string(group) + " does not divide the " + std::to_string(channels.value()) +
                 " channels of w");
      }
      if (x.ranked && !may_equal(x.dims[1], channels)) {
        ctx.fail("x has " + to_string(x.dims[1], {}) + " channels, but w of shape " + describe(w) + " takes " +
                     to_string(channels, {}),
                 "feed an input with that many channels on axis 1");
      }
    }
    const std::vector<Dim> unknown(rank - 2);
    y = SymShape::of({x.ranked ? x.dims[0] : Dim::unknown(), outputs});
    for (Dim& size : infer_transposed_window(ctx, x.ranked ? spatial_dims(x) : unknown, w.ranked ? spatial_dims(w) : unknown)) {
      y.dims.push_back(std::move(size));
    }
  }
  infer_epilogue(ctx, y, outputs);
  ctx.set(0, ctx.dtype(0), std::move(y));
}

/// Where each tap of the input at row-major index `pixel` adds to: the row-major index among the outputs, or −1 if it is cut off.
void tap_targets(const WindowGeometry& geometry, std::int64_t pixel, std::vector<std::int64_t>& targets) {
  const std::size_t rank = geometry.rank();
  Shape start(rank, 0);
  for (std::size_t i = rank; i-- > 0;) {
    start[i] = pixel % geometry.input[i] * geometry.stride[i] - geometry.pad_begin[i];
    pixel /= geometry.input[i];
  }
  targets.assign(1, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::vector<std::int64_t> outer = std::move(targets);
    targets.clear();
    for (const std::int64_t base : outer) {
      for (std::int64_t k = 0; k < geometry.kernel[i]; ++k) {
        const std::int64_t at = start[i] + k * geometry.dilation[i];
        const bool inside = base >= 0 && at >= 0 && at < geometry.output[i];
        targets.push_back(inside ? base * geometry.output[i] + at : -1);
      }
    }
  }
}

/// Weights as [channel][tap][output of its group], so that the innermost loop runs over outputs.
std::vector<double> transposed_weights(const TensorView& w, std::int64_t taps) {
  const std::vector<double> dense = read_numbers(w);
  const std::int64_t outputs = w.shape[1];
  std::vector<double> rows(dense.size());
  for (std::int64_t c = 0; c < w.shape[0]; ++c) {
    for (std::int64_t m = 0; m < outputs; ++m) {
      for (std::int64_t t = 0; t < taps; ++t) rows[(c * taps + t) * outputs + m] = dense[(c * outputs + m) * taps + t];
    }
  }
  return rows;
}

void compute_conv_transpose(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const TensorView& w = ctx.input(1);
  const TensorView& y = ctx.output(0);
  const WindowGeometry geometry = transposed_window_geometry(ctx.node(), spatial_sizes(x.shape), spatial_sizes(w.shape));
  const std::int64_t group = ctx.node().integer("group", 1);
  const std::int64_t channels = x.shape[1];
  const std::int64_t group_outputs = w.shape[1];
  const std::int64_t outputs = group_outputs * group;
  const std::int64_t pixels = geometry.input.elements();
  const std::int64_t positions = geometry.output.elements();
  const std::int64_t taps = geometry.kernel.elements();
  const std::vector<double> input = read_numbers(x);
  const std::vector<double> weights = transposed_weights(w, taps);
  // [batch][position][output], so that each addition of a tap is one run over outputs.
  std::vector<double> sums(static_cast<std::size_t>(y.shape.elements()), 0.0);
  std::vector<std::int64_t> targets;
  for (std::int64_t p = 0; p < pixels; ++p) {
    tap_targets(geometry, p, targets);
    for (std::int64_t n = 0; n < x.shape[0]; ++n) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const double value = input[(n * channels + c) * pixels + p];
        const std::int64_t first = c / (channels / group) * group_outputs;
        for (std::int64_t t = 0; t < taps; ++t) {
          if (targets[t] < 0) continue;
          const double* row = weights.data() + (c * taps + t) * group_outputs;
          double* sum = sums.data() + (n * positions + targets[t]) * outputs + first;
          for (std::int64_t m = 0; m < group_outputs; ++m) sum[m] += value * row[m];
        }
      }
    }
  }
  const EpilogueValues epilogue(ctx);
  std::vector<double> result(sums.size());
  for (std::int64_t n = 0; n < x.shape[0]; ++n) {
    for (std::int64_t m = 0; m < outputs; ++m) {
      for (std::int64_t o = 0; o < positions; ++o) {
        const std::int64_t element = (n * outputs + m) * positions + o;
        result[element] = epilogue.apply(sums[(n * positions + o) * outputs + m], m, element);
      }
    }
  }
  write_dense(y, result);
}

constexpr std::array<OpDef, 1> kOps = {
    {{"conv_transpose", {2, 5}, {1, 1}, kAttributes, infer_conv_transpose, compute_conv_transpose}}};

}  // namespace

std::span<const OpDef> conv_transpose_ops() { return kOps; }

}  // namespace jitney
