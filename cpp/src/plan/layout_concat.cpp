// Concat without copies: producers write their results where the concat's result has them.
#include "plan/layout.h"

namespace jitney {
namespace {

/// Whether the strides are those of a dense tensor in that order, or of one with gaps between its outer axes.
bool has_order(const Shape& shape, const Shape& strides, const Order& order) {
  std::int64_t least = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    if (shape[axis] == 1) continue;
    const bool innermost = least == 1;
    if (innermost ? strides[axis] != 1 : strides[axis] < least) return false;
    least = strides[axis] * shape[axis];
  }
  return true;
}

}  // namespace

Slot Layout::concat_part(const ConcatUse& use, const Slot& whole) const {
  const FlatValue& result = value(use.node->outputs[0]);
  const auto rank = static_cast<std::int64_t>(result.shape.size());
  const std::int64_t axis = use.node->node->integer("axis");
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  std::int64_t before = 0;
  for (std::size_t i = 0; i < use.operand; ++i) before += value(use.node->inputs[i]).shape[at];
  Slot part = whole;
  part.place.offset += before * whole.strides[at] * static_cast<std::int64_t>(size_of(result.dtype));
  return part;
}

Slot Layout::place_result(FlatId id, const Order& order, bool strided) {
  const FlatValue& v = value(id);
  const ConcatUse use = concat_uses_[static_cast<std::size_t>(id)];
  if (use.node == nullptr) return new_slot(v, order);
  const Shape dense = strides_for(v.shape, order);
  const FlatId whole = use.node->outputs[0];
  auto& slot = slots_[static_cast<std::size_t>(whole)];
  if (!slot) {
    if (!strided && !same_strides(v.shape, strides_for(value(whole).shape, order), dense)) return new_slot(v, order);
    set_slot(whole, place_result(whole, order, true));
  }
  const Slot part = concat_part(use, *slot);
  const bool fits = strided ? has_order(v.shape, part.strides, order) : same_strides(v.shape, part.strides, dense);
  if (!fits) return new_slot(v, order);
  in_place_concat_.insert({use.node, use.operand});
  return part;
}

void Layout::place_concat(const FlatNode& node) {
  const FlatId whole = node.outputs[0];
  if (!slots_[static_cast<std::size_t>(whole)]) {
    std::optional<Order> order;
    for (const FlatId id : node.inputs) {
      if (order) break;
      order = dense_order(value(id).shape, slot_of(id).strides);
    }
    set_slot(whole, place_result(whole, order.value_or(row_major_order(value(whole).shape.size())), true));
  }
  const Slot result = *slots_[static_cast<std::size_t>(whole)];
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const FlatId id = node.inputs[i];
    --uses_[static_cast<std::size_t>(id)];
    if (in_place_concat_.contains({&node, i}) || value(id).shape.elements() == 0) continue;
    copy(id, slot_of(id), concat_part({&node, i}, result));
  }
}

}  // namespace jitney
