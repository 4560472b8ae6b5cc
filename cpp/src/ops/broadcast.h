// Broadcasting of shapes over Dims, as NumPy and ONNX define it, and other arithmetic that shape rules share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/op.h"

namespace jitney {

/// "[#0, 3, ?]": for messages, where symbols' names are not at hand.
std::string describe(const SymShape& shape);

/// The dim that both broadcast to, unknown where that is open; nullopt if they contradict.
std::optional<Dim> broadcast_dim(const Dim& a, const Dim& b);

/// What the operands' shapes broadcast to; fails naming the shapes if they do not fit.
SymShape broadcast(const InferContext& ctx, const SymShape& a, const SymShape& b);

/// The dim of two that must be equal, as far as either tells; nullopt if they cannot be equal.
std::optional<Dim> unify(const Dim& a, const Dim& b);

/// The smallest value that an expression of sizes, which are never negative, can have; nullopt if there is no bound.
std::optional<std::int64_t> lower_bound(const Dim& dim);

/// Number of elements; unknown unless it is affine.
Dim element_count(const SymShape& shape);

/// Flat indices into operands of the shapes given for each element of their broadcast shape, in row-major order.
std::vector<std::vector<std::size_t>> broadcast_indices(const Shape& shape, std::span<const Shape> operands);

/// The shape as integers; nullopt unless all are known.
std::optional<Shape> constant_shape(const SymShape& shape);

}  // namespace jitney
