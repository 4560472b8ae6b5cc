// det: determinants of batches of square matrices.
#include <algorithm>
#include <cmath>

#include "ops/families.h"
#include "ops/operands.h"
#include "ops/rules.h"

namespace jitney {

namespace {

void infer_det(InferContext& ctx) {
  expect_floating(ctx, 0);
  const SymShape& x = ctx.shape(0);
  if (!x.ranked) return ctx.set(0, ctx.dtype(0), SymShape::unranked());
  if (x.rank() < 2) ctx.fail("the operand has shape " + describe(x) + ", but must be a matrix or a batch of matrices");
  (void)merge(ctx, x.dims[x.rank() - 2], x.dims[x.rank() - 1], "the size of the matrices");
  ctx.set(0, ctx.dtype(0), SymShape::of({x.dims.begin(), x.dims.end() - 2}));
}

/// By Gaussian elimination with partial pivoting, which overwrites the matrix.
double determinant(double* a, std::int64_t size) {
  double result = 1;
  for (std::int64_t k = 0; k < size; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < size; ++i) {
      if (std::abs(a[i * size + k]) > std::abs(a[pivot * size + k])) pivot = i;
    }
    result *= a[pivot * size + k];
    if (a[pivot * size + k] == 0) return result;
    if (pivot != k) {
      std::swap_ranges(a + k * size, a + (k + 1) * size, a + pivot * size);
      result = -result;
    }
    for (std::int64_t i = k + 1; i < size; ++i) {
      const double factor = a[i * size + k] / a[k * size + k];
      for (std::int64_t j = k; j < size; ++j) a[i * size + j] -= factor * a[k * size + j];
    }
  }
  return result;
}

void compute_det(const ComputeContext& ctx) {
  const Shape& shape = ctx.input(0).shape;
  const std::int64_t size = shape.back();
  std::vector<double> matrices = read_numbers(ctx.input(0));
  std::vector<double> result(static_cast<std::size_t>(ctx.output(0).shape.elements()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = determinant(matrices.data() + static_cast<std::int64_t>(i) * size * size, size);
  }
  write_dense(ctx.output(0), result);
}

constexpr OpDef kOps[] = {
    {"det", {1, 1}, {1, 1}, {}, infer_det, compute_det},
};

}  // namespace

std::span<const OpDef> determinant_ops() { return kOps; }

}  // namespace jitney
