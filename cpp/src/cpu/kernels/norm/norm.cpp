// The list of norm kernels.
#include "cpu/kernels/norm/norm.h"

#include "cpu/kernels/best_kernel.h"

namespace jitney::kernels {

#define JITNEY_NORM_KERNEL(name, isa, lanes, type) extern const NormKernel name;
#include "cpu/kernels/norm/kernels.inc"
#undef JITNEY_NORM_KERNEL

namespace {

#define JITNEY_NORM_KERNEL(name, isa, lanes, type) &name,
constexpr const NormKernel* kKernels[] = {
#include "cpu/kernels/norm/kernels.inc"
};
#undef JITNEY_NORM_KERNEL

}  // namespace

std::span<const NormKernel* const> norm_kernels() noexcept { return kKernels; }

const NormKernel& norm_kernel(Isa active) noexcept { return best_kernel<NormKernel>(kKernels, active); }

}  // namespace jitney::kernels
