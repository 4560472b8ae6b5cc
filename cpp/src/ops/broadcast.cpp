// Broadcasting over Dims.
#include "ops/broadcast.h"

#include <algorithm>

#include "base/checked.h"
#include "ops/access.h"

namespace jitney {

std::string describe(const SymShape& shape) {
  if (!shape.ranked) return "[…]";
  std::string text = "[";
  for (std::size_t i = 0; i < shape.rank(); ++i) text += (i > 0 ? ", " : "") + to_string(shape.dims[i], {});
  return text + "]";
}

std::optional<Dim> broadcast_dim(const Dim& a, const Dim& b) {
  const auto is = [](const Dim& dim, std::int64_t value) { return dim.is_constant() && dim.value() == value; };
  if (is(a, 1)) return b;
  if (is(b, 1)) return a;
  if (a.is_constant() && b.is_constant()) return a.value() == b.value() ? std::optional(a) : std::nullopt;
  // A constant other than 1 wins: the other dim can only be 1 or the same.
  if (a.is_constant()) return a;
  if (b.is_constant()) return b;
  return a.same(b) ? a : Dim::unknown();
}

SymShape broadcast(const InferContext& ctx, const SymShape& a, const SymShape& b) {
  if (!a.ranked || !b.ranked) return SymShape::unranked();
  const std::size_t rank = std::max(a.rank(), b.rank());
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < rank; ++i) {
    const Dim left = i + a.rank() >= rank ? a.dims[i + a.rank() - rank] : Dim(1);
    const Dim right = i + b.rank() >= rank ? b.dims[i + b.rank() - rank] : Dim(1);
    const auto joined = broadcast_dim(left, right);
    if (!joined) ctx.fail("shapes " + describe(a) + " and " + describe(b) + " do not broadcast");
    dims.push_back(*joined);
  }
  return SymShape::of(std::move(dims));
}

std::optional<Dim> unify(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (difference.is_constant() && difference.value() != 0) return std::nullopt;
  if (a.is_unknown() || b.is_constant()) return b;
  return a;
}

std::optional<std::int64_t> lower_bound(const Dim& dim) {
  if (dim.is_unknown()) return std::nullopt;
  for (const Dim::Term& term : dim.terms()) {
    if (term.coefficient < 0) return std::nullopt;
  }
  return dim.constant();
}

Dim element_count(const SymShape& shape) {
  if (!shape.ranked) return Dim::unknown();
  // Zeros are looked for first: they decide even next to an unknown dim.
  Dim count(1);
  for (const Dim& dim : shape.dims) {
    if (dim.is_constant() && dim.value() == 0) return Dim(0);
  }
  for (const Dim& dim : shape.dims) count = count * dim;
  return count;
}

std::vector<std::vector<std::size_t>> broadcast_indices(const Shape& shape, std::span<const Shape> operands) {
  std::vector<std::vector<std::size_t>> indices;
  for (const Shape& operand : operands) {
    const TensorView view{nullptr, DType::undefined, operand, dense_strides(operand)};
    std::vector<std::size_t> list;
    Walk<1>(shape, {broadcast_strides(view, shape)}).for_each([&](const std::array<std::int64_t, 1>& offset) {
      list.push_back(static_cast<std::size_t>(offset[0]));
    });
    indices.push_back(std::move(list));
  }
  return indices;
}

std::optional<Shape> constant_shape(const SymShape& shape) {
  if (!shape.is_constant() || shape.rank() > kMaxRank) return std::nullopt;
  Shape constant;
  for (const Dim& dim : shape.dims) constant.push_back(dim.value());
  return constant;
}

}  // namespace jitney
