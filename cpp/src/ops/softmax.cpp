// softmax and log_softmax along one axis.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ops/access.h"
#include "ops/families.h"
#include "ops/op.h"
#include "ops/rounding.h"

namespace jitney {
namespace {

constexpr std::array<AttributeSpec, 1> kAttributes = {{{"axis", AttributeType::integer}}};

void infer_softmax(InferContext& ctx) {
  ctx.expect_dtype(0, {DType::float32, DType::float16, DType::bfloat16, DType::float64});
  const SymShape& x = ctx.shape(0);
  if (x.ranked) ctx.axis(ctx.node().integer("axis", -1), x.rank());
  ctx.set(0, ctx.dtype(0), x);
}

/// ONNX defines softmax by simpler ops, whose results have the operand's dtype: 16-bit numbers are rounded at each step.
void softmax_row(std::vector<double>& row, bool logarithm, DType dtype) {
  double largest = row[0];
  for (const double x : row) largest = std::max(largest, x);
  for (double& x : row) x -= largest;
  round_to(dtype, row);
  std::vector<double> powers = row;
  for (double& x : powers) x = std::exp(x);
  round_to(dtype, powers);
  double sum = 0;
  for (const double x : powers) sum += x;
  std::vector<double> total = {sum};
  round_to(dtype, total);
  if (std::isfinite(total[0])) sum = total[0];  // a sum too large for float16 makes no result infinitely small
  const double log_sum = std::log(sum);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = logarithm ? row[i] - log_sum : powers[i] / sum;
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
    softmax_row(row, logarithm, x.dtype);
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
