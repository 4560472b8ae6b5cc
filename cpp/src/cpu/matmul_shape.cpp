// A matmul request brought to one form.
#include "cpu/matmul_shape.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cpu/storage.h"
#include "ops/epilogue.h"

namespace jitney::cpu {
namespace {

/// Sizes and strides of an operand's batch axes, right-aligned to `rank` and broadcast with strides of 0.
Shape batch_strides(const Operand& operand, std::size_t matrix_axes, std::size_t rank) {
  Shape strides(rank, 0);
  const std::size_t axes = operand.shape.size() - matrix_axes;
  for (std::size_t i = 0; i < axes; ++i) {
    if (operand.shape[i] != 1) strides[rank - axes + i] = operand.strides[i];
  }
  return strides;
}

/// Whether the batch axes with the row axis as their innermost can be walked with one stride; `row` becomes that stride.
bool rows_collapse(const Shape& batch, const Shape& strides, std::int64_t m, std::int64_t& row) {
  std::int64_t step = row, size = m;
  bool found = m != 1;
  for (std::size_t i = batch.size(); i-- > 0;) {
    if (batch[i] == 1) continue;
    if (!found) {
      step = strides[i];
      size = batch[i];
      found = true;
      row = step;
      continue;
    }
    if (strides[i] != step * size) return false;
    size *= batch[i];
  }
  return true;
}

}  // namespace

std::size_t contraction_axis(const Operand& a, bool transposed) {
  const std::size_t rank = a.shape.size();
  return rank >= 2 && transposed ? rank - 2 : rank - 1;
}

MatmulShape matmul_shape(const NodeRequest& node) {
  const Operand& a = node.inputs[0];
  const Operand& b = node.inputs[1];
  const Operand& c = node.outputs[0];
  const bool has_residual = present(node.inputs, kResidualOperand);
  const Operand& residual = has_residual ? node.inputs[kResidualOperand] : c;
  const std::size_t a_axes = std::min<std::size_t>(a.shape.size(), 2), b_axes = std::min<std::size_t>(b.shape.size(), 2);
  const std::size_t c_axes = (a_axes == 2 ? 1 : 0) + (b_axes == 2 ? 1 : 0);
  MatmulShape s;

  const std::size_t k_axis = contraction_axis(a, node.node->integer("trans_a", 0) != 0);
  s.k = a.shape[k_axis];
  s.a_k = a.strides[k_axis];
  if (a_axes == 2) {
    const std::size_t axis = 2 * a.shape.size() - 3 - k_axis;
    s.m = a.shape[axis];
    s.a_row = a.strides[axis];
    s.c_row = c.strides[c.shape.size() - c_axes];
    s.residual_row = residual.strides[c.shape.size() - c_axes];
  }
  if (b_axes == 2) {
    std::size_t rows = b.shape.size() - 2, columns = rows + 1;
    if (node.node->integer("trans_b", 0) != 0) std::swap(rows, columns);
    s.n = b.shape[columns];
    s.b_k = b.strides[rows];
    s.b_column = b.strides[columns];
    s.c_column = c.strides.back();
    s.residual_column = residual.strides.back();
  } else {
    s.b_k = b.strides[0];
  }

  const std::size_t rank = c.shape.size() - c_axes;
  const Shape batch(c.shape.span().first(rank));
  std::array<Shape, 4> strides = {batch_strides(a, a_axes, rank), batch_strides(b, b_axes, rank), batch_strides(c, c_axes, rank),
                                  batch_strides(residual, c_axes, rank)};
  const bool shared_b = std::all_of(strides[1].begin(), strides[1].end(), [](std::int64_t stride) { return stride == 0; });
  std::int64_t a_row = s.a_row, c_row = s.c_row, residual_row = s.residual_row;
  if (shared_b && rows_collapse(batch, strides[0], s.m, a_row) && rows_collapse(batch, strides[2], s.m, c_row) &&
      rows_collapse(batch, strides[3], s.m, residual_row)) {
    s.m *= batch.elements();
    std::tie(s.a_row, s.c_row, s.residual_row) = std::tuple(a_row, c_row, residual_row);
    s.a = s.b = s.c = s.residual = s.b_matrices = {0};
    s.b_index = {0};
    return s;
  }
  Shape index(rank, 0);
  for (std::int64_t left = batch.elements(); left > 0; --left) {
    std::array<std::int64_t, 4> offsets{};
    for (std::size_t i = 0; i < rank; ++i) {
      for (std::size_t k = 0; k < 4; ++k) offsets[k] += index[i] * strides[k][i];
    }
    s.a.push_back(offsets[0]);
    s.b.push_back(offsets[1]);
    s.c.push_back(offsets[2]);
    s.residual.push_back(offsets[3]);
    for (std::size_t i = rank; i-- > 0;) {
      if (++index[i] < batch[i]) break;
      index[i] = 0;
    }
  }
  s.b_matrices = s.b;
  std::sort(s.b_matrices.begin(), s.b_matrices.end());
  s.b_matrices.erase(std::unique(s.b_matrices.begin(), s.b_matrices.end()), s.b_matrices.end());
  for (const std::int64_t offset : s.b) {
    const auto found = std::lower_bound(s.b_matrices.begin(), s.b_matrices.end(), offset);
    s.b_index.push_back(static_cast<std::size_t>(found - s.b_matrices.begin()));
  }
  return s;
}

}  // namespace jitney::cpu
