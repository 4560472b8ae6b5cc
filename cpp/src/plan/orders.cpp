// Storage orders and the strides that follow from them.
#include "plan/backend.h"

namespace jitney {

Order row_major_order(std::size_t rank) {
  Order order(rank, 0);
  for (std::size_t i = 0; i < rank; ++i) order[i] = static_cast<std::int64_t>(i);
  return order;
}

Order channels_last_order(std::size_t rank) {
  Order order = row_major_order(rank);
  if (rank < 3) return order;
  for (std::size_t i = 1; i + 1 < rank; ++i) order[i] = static_cast<std::int64_t>(i + 1);
  order[rank - 1] = 1;
  return order;
}

Shape strides_for(const Shape& shape, const Order& order) {
  Shape strides(shape.size(), 0);
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    strides[axis] = step;
    step *= shape[axis] > 0 ? shape[axis] : 1;
  }
  return strides;
}

}  // namespace jitney
