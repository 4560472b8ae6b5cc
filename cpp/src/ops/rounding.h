// Rounds intermediate results to the 16-bit dtype that ONNX's definition of an op computes them in.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/access.h"

namespace jitney {

/// Rounds the numbers to a 16-bit dtype. Wider ones are left as they are.
inline void round_to(DType dtype, std::vector<double>& values) {
  if (size_of(dtype) != 2) return;
  std::vector<std::uint16_t> narrow(values.size());
  store_run(dtype, narrow.data(), 1, values.size(), values.data());
  load_run(dtype, narrow.data(), 1, values.size(), values.data());
}

}  // namespace jitney
