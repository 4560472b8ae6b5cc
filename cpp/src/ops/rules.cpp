// Element arithmetic of shape rules.
#include "ops/rules.h"

namespace jitney {

std::vector<bool> marked_axes(const InferContext& ctx, const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<bool> marked(rank, false);
  for (const std::int64_t given : axes) {
    const std::size_t axis = ctx.axis(given, rank);
    if (marked[axis]) ctx.fail("axis " + std::to_string(given) + " is named twice");
    marked[axis] = true;
  }
  return marked;
}

std::int64_t checked_index(const ComputeContext& ctx, std::int64_t index, std::int64_t size) {
  if (index >= -size && index < size) return index < 0 ? index + size : index;
  throw Error(ErrorCode::invalid_input,
              "index " + std::to_string(index) + " is outside the range of an axis of size " + std::to_string(size),
              "indices must lie between " + std::to_string(-size) + " and " + std::to_string(size - 1))
      .at(ctx.node().name, ctx.node().op);
}

void map_elements(InferContext& ctx, DType result, const SymShape& shape, std::size_t operands,
                  const std::function<Dim(std::span<const Dim>)>& rule) {
  if (is_floating(result) || number_class(result) == NumberClass::none) return;
  const auto to = constant_shape(shape);
  if (!to || to->elements() > 1024) return;
  std::vector<std::vector<Dim>> known;
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < operands; ++i) {
    const auto from = constant_shape(ctx.shape(i));
    auto elements = ctx.elements(i);
    if (!from || !elements) return;
    shapes.push_back(*from);
    known.push_back(std::move(*elements));
  }
  const auto indices = broadcast_indices(*to, shapes);
  std::vector<Dim> results, row(operands);
  for (std::size_t i = 0; i < static_cast<std::size_t>(to->elements()); ++i) {
    for (std::size_t k = 0; k < operands; ++k) row[k] = known[k][indices[k][i]];
    results.push_back(within(result, rule(row)));
  }
  ctx.set_elements(0, std::move(results));
}

}  // namespace jitney
