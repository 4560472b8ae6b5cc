// The list of softmax kernels.
#include "cpu/kernels/softmax/softmax.h"

#include "cpu/kernels/best_kernel.h"

namespace jitney::kernels {

#define JITNEY_SOFTMAX_KERNEL(name, isa, lanes, type) extern const SoftmaxKernel name;
#include "cpu/kernels/softmax/kernels.inc"
#undef JITNEY_SOFTMAX_KERNEL

namespace {

#define JITNEY_SOFTMAX_KERNEL(name, isa, lanes, type) &name,
constexpr const SoftmaxKernel* kKernels[] = {
#include "cpu/kernels/softmax/kernels.inc"
};
#undef JITNEY_SOFTMAX_KERNEL

}  // namespace

std::span<const SoftmaxKernel* const> softmax_kernels() noexcept { return kKernels; }

const SoftmaxKernel& softmax_kernel(Isa active) noexcept { return best_kernel<SoftmaxKernel>(kKernels, active); }

}  // namespace jitney::kernels
