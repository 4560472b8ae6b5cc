// Checks of operands' dtypes and dims that the network ops share.
#include "ops/operands.h"

#include <string>

#include "ops/broadcast.h"

namespace jitney {

void expect_dtype_of_first(const InferContext& ctx, std::size_t input) {
  if (!ctx.has(input) || ctx.dtype(input) == ctx.dtype(0)) return;
  ctx.fail("operand " + std::to_string(input) + " has dtype " + std::string(to_string(ctx.dtype(input))) +
               ", but operand 0 has " + std::string(to_string(ctx.dtype(0))),
           "cast one of them");
}

bool may_equal(const Dim& a, const Dim& b) { return unify(a, b).has_value(); }

Dim merge(const InferContext& ctx, const Dim& a, const Dim& b, std::string_view what) {
  const std::optional<Dim> merged = unify(a, b);
  if (!merged) {
    ctx.fail(std::string(what) + " is " + to_string(a, {}) + " in one operand and " + to_string(b, {}) + " in another",
             "they must be equal");
  }
  return *merged;
}

std::vector<Dim> spatial_dims(const SymShape& shape) {
  return shape.rank() <= 2 ? std::vector<Dim>{} : std::vector<Dim>(shape.dims.begin() + 2, shape.dims.end());
}

Shape spatial_sizes(const Shape& shape) { return Shape(shape.span().subspan(2)); }

std::int64_t product(const Shape& shape, std::size_t from, std::size_t to) {
  std::int64_t count = 1;
  for (std::size_t axis = from; axis < to; ++axis) count *= shape[axis];
  return count;
}

}  // namespace jitney
