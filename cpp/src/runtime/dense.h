// Small questions about strided views that the session asks of its callers' memory.
#pragma once

#include "jitney/tensor.h"

namespace jitney {

/// Whether a view is dense row-major (strides of axes of size 1 do not matter).
bool is_dense(const TensorView& view);
/// Whether the address ranges of two views overlap (they may still share no element).
bool share_memory(const TensorView& a, const TensorView& b);

}  // namespace jitney
