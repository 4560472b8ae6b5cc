// Picks from a family's list the kernel for the level in force.
#pragma once

#include <span>

#include "base/cpu_features.h"

namespace jitney::kernels {

/// The last of `kernels` that may run at this level; they stand weakest first, and the first runs anywhere.
template <typename Kernel>
const Kernel& best_kernel(std::span<const Kernel* const> kernels, Isa active) noexcept {
  const Kernel* best = kernels.front();
  for (const Kernel* kernel : kernels) {
    if (includes(active, kernel->isa)) best = kernel;
  }
  return *best;
}

}  // namespace jitney::kernels
