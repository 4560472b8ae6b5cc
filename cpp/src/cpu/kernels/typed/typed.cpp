// The list of typed rows.
#include "cpu/kernels/typed/typed.h"

#include "cpu/kernels/best_kernel.h"

namespace jitney::kernels {

#define JITNEY_TYPED_KERNELS(name, isa) extern const TypedKernels name;
#include "cpu/kernels/typed/kernels.inc"
#undef JITNEY_TYPED_KERNELS

namespace {

#define JITNEY_TYPED_KERNELS(name, isa) &name,
constexpr const TypedKernels* kKernels[] = {
#include "cpu/kernels/typed/kernels.inc"
};
#undef JITNEY_TYPED_KERNELS

}  // namespace

std::span<const TypedKernels* const> typed_kernels() noexcept { return kKernels; }

const TypedKernels& typed_kernels(Isa active) noexcept { return best_kernel<TypedKernels>(kKernels, active); }

}  // namespace jitney::kernels
