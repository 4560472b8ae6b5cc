// The choice of reduction kernels.
#include "cpu/kernels/reduce/reduce.h"

#include "cpu/kernels/best_kernel.h"

namespace jitney::kernels {

#define JITNEY_REDUCE_KERNEL(name, isa, lanes, type) extern const ReduceKernels name;
#include "cpu/kernels/reduce/kernels.inc"
#undef JITNEY_REDUCE_KERNEL

namespace {

#define JITNEY_REDUCE_KERNEL(name, isa, lanes, type) &name,
constexpr const ReduceKernels* kKernels[] = {
#include "cpu/kernels/reduce/kernels.inc"
};
#undef JITNEY_REDUCE_KERNEL

}  // namespace

std::span<const ReduceKernels* const> reduce_kernels() noexcept { return kKernels; }

const ReduceKernel& reduce_kernel(ReduceOp op, Isa active) noexcept {
  return best_kernel<ReduceKernels>(kKernels, active).ops[static_cast<std::size_t>(op)];
}

}  // namespace jitney::kernels
