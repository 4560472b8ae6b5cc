// softmax and log_softmax along one axis.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ops/access.h"
#include "ops/families.h"
#include "ops/op.h"

namespace jitney {
namespace {

constexpr std::array<AttributeSpec, 1> kAttributes = {{{"axis", AttributeType::integer}}};

void infer_softmax(InferContext& ctx) {
  ctx.expect_dtype(0, {DType::float32, DType::float16, DType::bfloat16, DType::float64});
  const SymShape& x = ctx.shape(0);
  if (x.ranked) ctx.axis(ctx.node().integer("axis", -1), x.rank());
  ctx.set(0, ctx.dtype(0), x);
}

void softmax_row(std::vector<double>& row, bool logarithm) {
  double largest = row[0];
  for (const double x : row) largest = std::max(largest, x);
  double sum = 0;
  for (double& x : row) {
    x -= largest;
    sum += std::exp(x);
  }
  const double log_sum = std::log(sum);
  for (double& x : row) x = logarithm ? x - log_sum : std::exp(x) / sum;
}

void compute_softmax(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const TensorView& y = ctx.output(0);
  const bool logarithm = ctx.node().op == "log_softmax";
  const std::int64_t given = ctx.node().integer("axis", -1);
  const auto axis = static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(x.shape.size()) : given);
  const std::int64_t length = x.shape[axis];
  if (length == 0) return;
  Shape rows = x.shape;
  rows[axis] = 1;
  std::vector<double> row(static_cast<std::size_t>(length));
  Walk<2>(rows, {x.strides, y.strides}).for_each([&](const std::array<std::int64_t, 2>& offsets) {
    load_run(x.dtype, address(x, offsets[0]), x.strides[axis], row.size(), row.data());
    softmax_row(row, logarithm);
    store_run(y.dtype, address(y, offsets[1]), y.strides[axis], row.size(), row.data());
  });
}

constexpr std::array<OpDef, 2> kOps = {{
    {"softmax", {1, 1}, {1, 1}, kAttributes, infer_softmax, compute_softmax},
    {"log_softmax", {1, 1}, {1, 1}, kAttributes, infer_softmax, compute_softmax},
}};

}  // namespace

std::span<const OpDef> softmax_ops() { return kOps; }

}  // namespace jitney
