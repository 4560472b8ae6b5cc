// Strided views: density, copies, overlap.
#include "runtime/dense.h"

#include <cstdint>
#include <utility>

#include "plan/layout.h"

namespace jitney {
namespace {

/// First byte and one past the last byte that a view touches; an empty range for an empty view.
std::pair<std::uintptr_t, std::uintptr_t> extent(const TensorView& view) {
  const auto base = reinterpret_cast<std::uintptr_t>(view.data);
  std::int64_t low = 0, high = 0;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 0) return {base, base};
    const std::int64_t reach = (view.shape[i] - 1) * view.strides[i];
    (reach < 0 ? low : high) += reach;
  }
  const auto size = static_cast<std::int64_t>(size_of(view.dtype));
  return {base + static_cast<std::uintptr_t>(low * size), base + static_cast<std::uintptr_t>((high + 1) * size)};
}

}  // namespace

bool is_dense(const TensorView& view) { return same_strides(view.shape, view.strides, dense_strides(view.shape)); }

bool share_memory(const TensorView& a, const TensorView& b) {
  const auto [a_begin, a_end] = extent(a);
  const auto [b_begin, b_end] = extent(b);
  return a_begin < b_end && b_begin < a_end;
}

}  // namespace jitney
