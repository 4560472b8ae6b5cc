// What the shape rules of several families share: dtype checks and arithmetic on known elements.
#pragma once

#include <functional>

#include "ops/access.h"
#include "ops/broadcast.h"
#include "ops/op.h"

namespace jitney {

inline void expect_floating(const InferContext& ctx, std::size_t input) {
  if (is_floating(ctx.dtype(input))) return;
  ctx.fail("operand " + std::to_string(input) + " has dtype " + std::string(to_string(ctx.dtype(input))) +
           ", but must be a float");
}

inline void expect_integer(const InferContext& ctx, std::size_t input) {
  if (is_integer(ctx.dtype(input))) return;
  ctx.fail("operand " + std::to_string(input) + " has dtype " + std::string(to_string(ctx.dtype(input))) +
           ", but must be an integer");
}

/// A float or an integer, not bool.
inline void expect_number(const InferContext& ctx, std::size_t input) {
  if (is_floating(ctx.dtype(input)) || is_integer(ctx.dtype(input))) return;
  ctx.fail("operand " + std::to_string(input) + " has dtype " + std::string(to_string(ctx.dtype(input))) +
           ", but must be a number");
}

/// int32 or int64, as indices, axes and sizes are.
inline void expect_index(const InferContext& ctx, std::size_t input) { ctx.expect_dtype(input, {DType::int64, DType::int32}); }

inline void expect_same_dtype(const InferContext& ctx, std::size_t a, std::size_t b) {
  if (ctx.dtype(a) == ctx.dtype(b)) return;
  ctx.fail("operands " + std::to_string(a) + " and " + std::to_string(b) + " have dtypes " +
           std::string(to_string(ctx.dtype(a))) + " and " + std::string(to_string(ctx.dtype(b))) + ", but must have the same");
}

inline void expect_rank(const InferContext& ctx, std::size_t input, std::size_t rank) {
  if (!ctx.shape(input).ranked || ctx.shape(input).rank() == rank) return;
  ctx.fail("operand " + std::to_string(input) + " has shape " + describe(ctx.shape(input)) + ", but must have rank " +
           std::to_string(rank));
}

/// An operand that stands for one number: rank 0, or any rank with one element.
inline void expect_one_element(const InferContext& ctx, std::size_t input) {
  const Dim count = element_count(ctx.shape(input));
  if (!count.is_constant() || count.value() == 1) return;
  ctx.fail("operand " + std::to_string(input) + " has shape " + describe(ctx.shape(input)) + ", but must have one element");
}

/// A mark for each of `rank` axes that `axes` names; fails if one is named twice or is not there.
std::vector<bool> marked_axes(const InferContext& ctx, const std::vector<std::int64_t>& axes, std::size_t rank);

/// An index counted from the front. Throws Error(invalid_input) naming it and the size if it lies outside [-size, size).
std::int64_t checked_index(const ComputeContext& ctx, std::int64_t index, std::int64_t size);

/// A node's axis attribute, counted from the front; the rule has checked it.
inline std::size_t axis_of(const Node& node, std::size_t rank) {
  const std::int64_t axis = node.integer("axis");
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

/// An element of a dtype: unknown if a constant does not fit, since what then happens is not arithmetic on sizes.
inline Dim within(DType dtype, const Dim& element) {
  if (!element.is_constant() || (element.value() >= lowest_of(dtype) && element.value() <= highest_of(dtype))) return element;
  return Dim::unknown();
}

/// Sets the elements of the result from those of the operands, which broadcast, as far as all are known. The result's dtype and
/// shape are set already.
void map_elements(InferContext& ctx, DType result, const SymShape& shape, std::size_t operands,
                  const std::function<Dim(std::span<const Dim>)>& rule);

}  // namespace jitney
