// matmul: NumPy's matrix product with transposes, a scale and the shared epilogue.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "ops/access.h"
#include "ops/broadcast.h"
#include "ops/epilogue.h"
#include "ops/families.h"
#include "ops/operands.h"

namespace jitney {
namespace {

constexpr std::array<AttributeSpec, 3> kOwnAttributes = {{
    {"trans_a", AttributeType::integer},
    {"trans_b", AttributeType::integer},
    {"scale", AttributeType::number},
}};
constexpr auto kAttributes = join(kOwnAttributes, kEpilogueAttributes);

/// The last two dims as the product sees them: a vector is one row on the left, one column on the right.
struct Matrix {
  Dim rows = 1, columns = 1;
  SymShape batch = SymShape::of({});
};

Matrix matrix_of(const InferContext& ctx, std::size_t input, bool transposed) {
  const SymShape& shape = ctx.shape(input);
  Matrix matrix;
  if (shape.rank() == 0) ctx.fail("operand " + std::to_string(input) + " is a scalar", "use mul, or give it an axis");
  if (shape.rank() == 1) {
    if (transposed) ctx.fail("operand " + std::to_string(input) + " is a vector and cannot be transposed");
    (input == 0 ? matrix.columns : matrix.rows) = shape.dims[0];
    return matrix;
  }
  matrix.rows = shape.dims[shape.rank() - 2];
  matrix.columns = shape.dims.back();
  if (transposed) std::swap(matrix.rows, matrix.columns);
  matrix.batch.dims.assign(shape.dims.begin(), shape.dims.end() - 2);
  return matrix;
}

void infer_matmul(InferContext& ctx) {
  ctx.expect_dtype(0, {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::int32, DType::int64, DType::uint32,
                       DType::uint64});
  expect_dtype_of_first(ctx, 1);
  const Node& node = ctx.node();
  if (!is_floating(ctx.dtype(0)) && (node.number("scale", 1.0) != 1.0 || parse_epilogue(node).activation != Activation::none)) {
    ctx.fail("integer matrices take neither a scale nor an activation", "cast them to a floating-point dtype");
  }
  SymShape y;
  Dim columns;
  if (ctx.shape(0).ranked && ctx.shape(1).ranked) {
    const Matrix a = matrix_of(ctx, 0, node.integer("trans_a", 0) != 0);
    const Matrix b = matrix_of(ctx, 1, node.integer("trans_b", 0) != 0);
    if (!may_equal(a.columns, b.rows)) {
      ctx.fail("shapes " + describe(ctx.shape(0)) + " and " + describe(ctx.shape(1)) + " do not multiply: the left has " +
                   to_string(a.columns, {}) + " columns and the right " + to_string(b.rows, {}) + " rows",
               "they must be equal");
    }
    y = broadcast(ctx, a.batch, b.batch);
    if (ctx.shape(0).rank() > 1) y.dims.push_back(a.rows);
    if (ctx.shape(1).rank() > 1) y.dims.push_back(b.columns);
    columns = b.columns;
  }
  infer_epilogue(ctx, y, columns);
  ctx.set(0, ctx.dtype(0), std::move(y));
}

/// The operand as [batch…, rows, columns]; the strides say how to walk it so.
TensorView as_matrices(const TensorView& view, bool left, bool transposed) {
  TensorView matrices = view;
  if (view.shape.size() == 1) {
    matrices.shape = left ? Shape{1, view.shape[0]} : Shape{view.shape[0], 1};
    matrices.strides = left ? Shape{0, view.strides[0]} : Shape{view.strides[0], 0};
  } else if (transposed) {
    const std::size_t last = view.shape.size() - 1;
    std::swap(matrices.shape[last], matrices.shape[last - 1]);
    std::swap(matrices.strides[last], matrices.strides[last - 1]);
  }
  return matrices;
}

Shape batch_of(const TensorView& matrices) { return Shape(matrices.shape.span().first(matrices.shape.size() - 2)); }

/// Products of all pairs of matrices, dense. Unsigned arithmetic stands for all integers: it wraps without undefined behaviour.
template <typename T>
std::vector<T> multiply(const TensorView& a, const std::vector<T>& left, const TensorView& b, const std::vector<T>& right,
                        std::int64_t products) {
  const std::size_t rank_a = a.shape.size();
  const std::int64_t rows = a.shape[rank_a - 2];
  const std::int64_t depth = a.shape[rank_a - 1];
  const std::int64_t columns = b.shape[b.shape.size() - 1];
  Shape batch = batch_of(a);
  const Shape batch_b = batch_of(b);
  if (batch_b.size() > batch.size()) batch = batch_b;
  for (std::size_t i = 1; i <= batch.size(); ++i) {
    const std::int64_t from_a = i <= rank_a - 2 ? a.shape[rank_a - 2 - i] : 1;
    const std::int64_t from_b = i <= batch_b.size() ? batch_b[batch_b.size() - i] : 1;
    batch[batch.size() - i] = from_a == 1 ? from_b : from_a;
  }
  const std::array<Shape, 2> operands = {batch_of(a), batch_b};
  const auto indices = broadcast_indices(batch, operands);
  std::vector<T> result(static_cast<std::size_t>(products), T{0});
  T* sums = result.data();
  for (std::size_t n = 0; n < indices[0].size(); ++n) {
    const T* left_matrix = left.data() + indices[0][n] * static_cast<std::size_t>(rows * depth);
    const T* right_matrix = right.data() + indices[1][n] * static_cast<std::size_t>(depth * columns);
    for (std::int64_t i = 0; i < rows; ++i, sums += columns) {
      for (std::int64_t k = 0; k < depth; ++k) {
        const T value = left_matrix[i * depth + k];
        const T* row = right_matrix + k * columns;
        for (std::int64_t j = 0; j < columns; ++j) sums[j] += value * row[j];
      }
    }
  }
  return result;
}

std::vector<std::uint64_t> read_wrapping(const TensorView& view) {
  const std::vector<std::int64_t> values = read_integers(view);
  return {values.begin(), values.end()};
}

void compute_matmul(const ComputeContext& ctx) {
  const Node& node = ctx.node();
  const TensorView a = as_matrices(ctx.input(0), true, node.integer("trans_a", 0) != 0);
  const TensorView b = as_matrices(ctx.input(1), false, node.integer("trans_b", 0) != 0);
  const TensorView& y = ctx.output(0);
  const std::int64_t products = y.shape.elements();
  const std::int64_t columns = std::max<std::int64_t>(b.shape.back(), 1);
  if (is_floating(a.dtype)) {
    std::vector<double> result = multiply(a, read_numbers(a), b, read_numbers(b), products);
    const EpilogueValues epilogue(ctx);
    const double scale = node.number("scale", 1.0);
    for (std::int64_t i = 0; i < products; ++i) result[i] = epilogue.apply(result[i] * scale, i % columns, i);
    write_dense(y, result);
    return;
  }
  std::vector<std::uint64_t> result = multiply(a, read_wrapping(a), b, read_wrapping(b), products);
  const auto bias = ctx.has(kBiasOperand) ? read_wrapping(ctx.input(kBiasOperand)) : std::vector<std::uint64_t>{};
  const auto residual = ctx.has(kResidualOperand) ? read_wrapping(ctx.input(kResidualOperand)) : std::vector<std::uint64_t>{};
  for (std::int64_t i = 0; i < products; ++i) {
    if (!bias.empty()) result[i] += bias[i % columns];
    if (!residual.empty()) result[i] += residual[i];
  }
  write_dense(y, result);
}

constexpr std::array<OpDef, 1> kOps = {{{"matmul", {2, 5}, {1, 1}, kAttributes, infer_matmul, compute_matmul}}};

}  // namespace

std::span<const OpDef> matmul_ops() { return kOps; }

}  // namespace jitney
