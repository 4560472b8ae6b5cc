// Nothing but multiply-adds in registers: how fast a core can compute, which is what the profiler measures kernels against.
#pragma once

#include <cstddef>

#include "base/cpu_features.h"

namespace jitney::kernels {

struct PeakKernel {
  const char* name;
  Isa isa;
  double flops_per_round;
  /// So many rounds; the result keeps the compiler from leaving them out.
  float (*run)(std::size_t rounds, float factor, float addend);
};

/// The best one that may run at this level.
const PeakKernel& peak_kernel(Isa active) noexcept;

}  // namespace jitney::kernels
