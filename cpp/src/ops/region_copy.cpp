// Strided copies, and the evaluation of movement ops by them.
#include "ops/region_copy.h"

#include <cstring>

namespace jitney {

namespace {

template <std::size_t Bytes>
void copy_run(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride, std::int64_t count) {
  constexpr auto size = static_cast<std::int64_t>(Bytes);
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_stride * size, from + i * from_stride * size, Bytes);
}

using CopyRun = void (*)(const std::byte*, std::int64_t, std::byte*, std::int64_t, std::int64_t);

CopyRun copy_run_for(std::size_t element_size) {
  switch (element_size) {
    case 1:
      return copy_run<1>;
    case 2:
      return copy_run<2>;
    case 4:
      return copy_run<4>;
    case 8:
      return copy_run<8>;
    case 16:
      return copy_run<16>;
    default:
      throw Error(ErrorCode::internal, "no copy of elements of " + std::to_string(element_size) + " bytes");
  }
}

}  // namespace

RegionCopy::RegionCopy(std::size_t element_size, const Shape& sizes, const Shape& from_strides, const Shape& to_strides)
    : element_size_(element_size), walk_(memory_order_walk<2>(sizes, {from_strides, to_strides})) {}

void RegionCopy::operator()(const void* from, void* to) const {
  const auto size = static_cast<std::int64_t>(element_size_);
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  if (walk_.run == 1 || (walk_.run_strides[0] == 1 && walk_.run_strides[1] == 1)) {
    const auto bytes = static_cast<std::size_t>(walk_.run) * element_size_;
    if (walk_.sizes.empty() && !walk_.empty) {  // one run, as rows that are gathered and scattered are
      std::memcpy(target, source, bytes);
      return;
    }
    walk_.for_each_run(
        [&](const std::array<std::int64_t, 2>& at) { std::memcpy(target + at[1] * size, source + at[0] * size, bytes); });
    return;
  }
  const CopyRun copy = copy_run_for(element_size_);
  walk_.for_each_run([&](const std::array<std::int64_t, 2>& at) {
    copy(source + at[0] * size, walk_.run_strides[0], target + at[1] * size, walk_.run_strides[1], walk_.run);
  });
}

void copy_region(std::size_t element_size, const Shape& sizes, const void* from, const Shape& from_strides, void* to,
                 const Shape& to_strides) {
  RegionCopy(element_size, sizes, from_strides, to_strides)(from, to);
}

void copy_tensor(const TensorView& from, const TensorView& to) {
  copy_region(size_of(to.dtype), to.shape, from.data, from.strides, to.data, to.strides);
}

Tensor make_dense(const TensorView& view) {
  Tensor dense(view.dtype, view.shape);
  copy_tensor(view, dense.view());
  return dense;
}

void compute_regions(const ComputeContext& ctx, RegionsRule rule) {
  std::vector<TensorView> inputs, outputs;
  for (std::size_t i = 0; i < ctx.input_count(); ++i) inputs.push_back(ctx.input(i));
  for (std::size_t i = 0; i < ctx.output_count(); ++i) outputs.push_back(ctx.output(i));
  Tensor dense;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!ctx.wants(i)) continue;
    auto regions = rule(ctx.node(), inputs, outputs, i);
    if (!regions) {
      dense = make_dense(inputs[0]);
      inputs[0] = dense.view();
      regions = rule(ctx.node(), inputs, outputs, i);
    }
    if (!regions) throw Error(ErrorCode::internal, "no regions for a dense operand").at(ctx.node().name, ctx.node().op);
    for (const Region& region : *regions) {
      if (region.sizes.elements() == 0) continue;
      copy_region(size_of(outputs[i].dtype), region.sizes, address(inputs[region.input], region.src_offset), region.src_strides,
                  address(outputs[i], region.dst_offset), region.dst_strides);
    }
  }
}

std::optional<Shape> reshaped_strides(const Shape& shape, const Shape& strides, const Shape& new_shape) {
  if (shape.elements() == 0) return dense_strides(new_shape);
  Shape old_sizes, old_strides;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    old_sizes.push_back(shape[i]);
    old_strides.push_back(strides[i]);
  }
  Shape result(new_shape.size(), 1);
  // Groups of old and new axes with equal products are matched from the left; an old group must be walkable as one axis.
  std::size_t old_begin = 0, new_begin = 0;
  while (old_begin < old_sizes.size() && new_begin < new_shape.size()) {
    std::size_t old_end = old_begin + 1, new_end = new_begin + 1;
    std::int64_t old_count = old_sizes[old_begin], new_count = new_shape[new_begin];
    while (old_count != new_count) {
      if (new_count < old_count) {
        if (new_end == new_shape.size()) return std::nullopt;
        new_count *= new_shape[new_end++];
      } else {
        if (old_end == old_sizes.size()) return std::nullopt;
        old_count *= old_sizes[old_end++];
      }
    }
    for (std::size_t i = old_begin; i + 1 < old_end; ++i) {
      if (old_strides[i] != old_strides[i + 1] * old_sizes[i + 1]) return std::nullopt;
    }
    result[new_end - 1] = old_strides[old_end - 1];
    for (std::size_t i = new_end - 1; i > new_begin; --i) result[i - 1] = result[i] * new_shape[i];
    old_begin = old_end;
    new_begin = new_end;
  }
  return result;
}

}  // namespace jitney
