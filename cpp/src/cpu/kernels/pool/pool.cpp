// The choice of pooling kernels.
#include "cpu/kernels/pool/pool.h"

#include "cpu/kernels/best_kernel.h"

namespace jitney::kernels {

#define JITNEY_POOL_KERNEL(name, isa, lanes, type) extern const PoolKernel name;
#include "cpu/kernels/pool/kernels.inc"
#undef JITNEY_POOL_KERNEL

namespace {

#define JITNEY_POOL_KERNEL(name, isa, lanes, type) &name,
constexpr const PoolKernel* kKernels[] = {
#include "cpu/kernels/pool/kernels.inc"
};
#undef JITNEY_POOL_KERNEL

}  // namespace

std::span<const PoolKernel* const> pool_kernels() noexcept { return kKernels; }

const PoolKernel& pool_kernel(Isa active) noexcept { return best_kernel<PoolKernel>(kKernels, active); }

}  // namespace jitney::kernels
