// What a step has to do at least, whatever its kernel: arithmetic and bytes, as the profiler counts them.
#pragma once

#include <cstdint>

#include "plan/backend.h"

namespace jitney {

struct StepCost {
  /// Operations on numbers as the ops are defined: a multiply-add counts two, anything else one per element. A kernel may need
  /// fewer (Winograd's method) or more (tails of vectors).
  double flops = 0;
  /// Of the outer operands, each read or written once.
  std::uint64_t bytes = 0;
};

StepCost step_cost(Group group);

}  // namespace jitney
