// A matmul request brought to one form: batches of [M, K] · [K, N], with 1-D operands, transposes and broadcasting resolved.
#pragma once

#include <vector>

#include "plan/backend.h"

namespace jitney::cpu {

struct MatmulShape {
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t a_row = 0, a_k = 1;  // strides
  std::int64_t b_k = 0, b_column = 1;
  std::int64_t c_row = 0, c_column = 1;
  std::int64_t residual_row = 0, residual_column = 1;
  /// Offsets of each product's matrices; one entry if the batch could be made part of M.
  std::vector<std::int64_t> a, b, c, residual;
  /// First elements of the different matrices in B, and for each product which of them it uses.
  std::vector<std::int64_t> b_matrices;
  std::vector<std::size_t> b_index;
};

/// All operands need strides. Where B is the same for all products and rows of A (and C, and the residual) are evenly spaced
/// over the batch, the batch becomes part of M.
MatmulShape matmul_shape(const NodeRequest& node);

/// Axis of A along which K runs.
std::size_t contraction_axis(const Operand& a, bool transposed);

}  // namespace jitney::cpu
