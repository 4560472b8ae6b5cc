// Kernels of one family among which a measurement may choose.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_features.h"

namespace jitney::cpu {

/// Whether a kernel other than the best one is worth measuring: it may run here, and vectors do not have to do without it.
template <typename Kernel>
bool worth_measuring(const Kernel& kernel, const Kernel& best) noexcept {
  return includes(active_isa(), kernel.isa) && (kernel.isa != Isa::scalar || best.isa == Isa::scalar);
}

/// The kernel of that name if it is worth measuring, else the best one.
template <typename Kernel>
const Kernel& kernel_of(std::span<const Kernel* const> kernels, const Kernel* best, std::string_view wanted) noexcept {
  for (const Kernel* kernel : kernels)
    if (wanted == kernel->name && worth_measuring(*kernel, *best)) return *kernel;
  return *best;
}

/// The names of all that are worth measuring, the best one's first.
template <typename Kernel>
std::vector<std::string> kernel_names(std::span<const Kernel* const> kernels, const Kernel& best) {
  std::vector<std::string> names = {best.name};
  for (const Kernel* kernel : kernels)
    if (kernel != &best && worth_measuring(*kernel, best)) names.emplace_back(kernel->name);
  return names;
}

}  // namespace jitney::cpu
