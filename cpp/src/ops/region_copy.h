// Copies strided regions: the one kernel behind all ops that only move data.
#pragma once

#include <optional>

#include "ops/access.h"
#include "ops/op.h"

namespace jitney {

/// For every index below `sizes`: to[i·to_strides] = from[i·from_strides], elements of `element_size` bytes. The memory of the
/// two must not overlap. Made once, it copies many regions of the same sizes and strides.
class RegionCopy {
 public:
  RegionCopy(std::size_t element_size, const Shape& sizes, const Shape& from_strides, const Shape& to_strides);
  void operator()(const void* from, void* to) const;

 private:
  std::size_t element_size_;
  Walk<2> walk_;
};

/// The same for one region.
void copy_region(std::size_t element_size, const Shape& sizes, const void* from, const Shape& from_strides, void* to,
                 const Shape& to_strides);

/// Copies a whole tensor into another of the same shape and dtype.
void copy_tensor(const TensorView& from, const TensorView& to);

/// A dense row-major copy.
Tensor make_dense(const TensorView& view);

/// Runs a data-movement op by its regions.
void compute_regions(const ComputeContext& ctx, RegionsRule rule);
template <RegionsRule rule>
void compute_movement(const ComputeContext& ctx) {
  compute_regions(ctx, rule);
}

/// Strides with which memory of `shape` and `strides` can be seen as `new_shape` (as many elements); nullopt if it cannot.
std::optional<Shape> reshaped_strides(const Shape& shape, const Shape& strides, const Shape& new_shape);

}  // namespace jitney
