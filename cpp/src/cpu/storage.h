// Questions about how operands lie in memory.
#pragma once

#include <optional>

#include "plan/backend.h"

namespace jitney::cpu {

/// Whether a tensor with these strides is dense in that order. Strides along axes of size 1 do not matter.
bool dense_in(const Shape& shape, const Shape& strides, const Order& order);

/// Axes by descending stride; axes along which nothing moves (size 1, stride 0) keep their row-major places as far as they can.
Order storage_order(const Shape& shape, const Shape& strides);

/// How a [N, C, spatial…] tensor lies for kernels that work on pixels whose channels are contiguous: pixel (n, p) starts at
/// n·batch + Σ p[i]·spatial[i].
struct PixelStrides {
  std::int64_t batch = 0;
  Shape spatial;
};

/// nullopt unless rank ≥ 3, channels have stride 1 (or C is 1), and every stride is non-negative.
std::optional<PixelStrides> pixel_strides(const Shape& shape, const Shape& strides);

/// The distance between consecutive pixels if all pixels of the tensor, batch included, are evenly spaced.
std::optional<std::int64_t> uniform_pixel_stride(const Shape& shape, const Shape& strides);

inline bool present(const std::vector<Operand>& operands, std::size_t i) {
  return i < operands.size() && operands[i].dtype != DType::undefined;
}

/// Address of an input at run time: what the run binds, or else the bytes known at plan time.
template <typename T = float>
const T* input_data(const StepRun& run, const NodeRequest& node, std::size_t i) {
  if (!present(node.inputs, i)) return nullptr;
  void* bound = i < run.inputs.size() ? run.inputs[i] : nullptr;
  if (bound == nullptr) {
    if (const auto known = node.inputs[i].bytes()) bound = known->data;
  }
  return static_cast<const T*>(bound);
}

}  // namespace jitney::cpu
