// Questions about how operands lie in memory.
#include "cpu/storage.h"

#include <cstdlib>
#include <utility>

namespace jitney::cpu {

bool dense_in(const Shape& shape, const Shape& strides, const Order& order) {
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    if (shape[axis] == 0) return true;
    if (shape[axis] == 1) continue;
    if (strides[axis] != step) return false;
    step *= shape[axis];
  }
  return true;
}

Order storage_order(const Shape& shape, const Shape& strides) {
  Order order(shape.size(), 0);
  std::size_t count = 0;
  const auto moves = [&](std::int64_t axis) {
    return shape[static_cast<std::size_t>(axis)] > 1 && strides[static_cast<std::size_t>(axis)] != 0;
  };
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::size_t place = count++;
    order[place] = static_cast<std::int64_t>(axis);
    if (!moves(order[place])) continue;
    // Sorted insertion: past axes that do not move only together with one that does.
    for (std::size_t before = place; before-- > 0;) {
      if (!moves(order[before])) continue;
      if (std::abs(strides[static_cast<std::size_t>(order[before])]) >= std::abs(strides[axis])) break;
      for (std::size_t i = place; i > before; --i) std::swap(order[i], order[i - 1]);
      place = before;
    }
  }
  return order;
}

std::optional<PixelStrides> pixel_strides(const Shape& shape, const Shape& strides) {
  if (shape.size() < 3 || (shape[1] > 1 && strides[1] != 1)) return std::nullopt;
  PixelStrides pixels{shape[0] > 1 ? strides[0] : 0, {}};
  if (pixels.batch < 0) return std::nullopt;
  for (std::size_t i = 2; i < shape.size(); ++i) {
    if (shape[i] > 1 && strides[i] < 0) return std::nullopt;
    pixels.spatial.push_back(shape[i] > 1 ? strides[i] : 0);
  }
  return pixels;
}

std::optional<std::int64_t> uniform_pixel_stride(const Shape& shape, const Shape& strides) {
  if (!pixel_strides(shape, strides)) return std::nullopt;
  std::optional<std::int64_t> pixel;
  std::int64_t step = 0;
  for (std::size_t k = shape.size(); k-- > 1;) {
    const std::size_t axis = k == 1 ? 0 : k;
    if (shape[axis] == 1) continue;
    if (!pixel) {
      pixel = step = strides[axis];
    } else if (strides[axis] != step) {
      return std::nullopt;
    }
    step *= shape[axis];
  }
  return pixel ? *pixel : shape[1];
}

}  // namespace jitney::cpu
