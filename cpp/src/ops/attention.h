// Where the heads of an attention's operands lie; the reference kernel and backends share it.
#pragma once

#include <cstdint>

#include "jitney/tensor.h"

namespace jitney {

/// Elements from the operand's first to that of the head at `index` within `batch`: axes of size 1 are broadcast, and where there
/// are fewer heads of keys than of queries, neighbouring ones share them.
std::int64_t head_offset(const TensorView& view, const Shape& index, const Shape& batch);

/// The stride along the axis `from_end` before the last; 0 if it is broadcast or not there.
std::int64_t attention_stride(const TensorView& view, std::size_t from_end);

/// Calls body(index) for every head, in row-major order.
template <typename Body>
void for_each_head(const Shape& batch, const Body& body) {
  Shape index(batch.size(), 0);
  for (std::int64_t left = batch.elements(); left > 0; --left) {
    body(static_cast<const Shape&>(index));
    for (std::size_t i = batch.size(); i-- > 0;) {
      if (++index[i] < batch[i]) break;
      index[i] = 0;
    }
  }
}

}  // namespace jitney
