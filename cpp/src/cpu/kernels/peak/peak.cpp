// The list of loops.
#include "cpu/kernels/peak/peak.h"

#include <array>

#include "cpu/kernels/best_kernel.h"

namespace jitney::kernels {

#define JITNEY_PEAK_KERNEL(name, isa, lanes) float name(std::size_t rounds, float factor, float addend);
#include "cpu/kernels/peak/kernels.inc"
#undef JITNEY_PEAK_KERNEL

namespace {

constexpr double kChains = 12;

#define JITNEY_PEAK_KERNEL(name, isa, lanes) constexpr PeakKernel k_##name = {#name, Isa::isa, 2 * kChains * (lanes), name};
#include "cpu/kernels/peak/kernels.inc"
#undef JITNEY_PEAK_KERNEL

constexpr const PeakKernel* kKernels[] = {
#define JITNEY_PEAK_KERNEL(name, isa, lanes) &k_##name,
#include "cpu/kernels/peak/kernels.inc"
#undef JITNEY_PEAK_KERNEL
};

}  // namespace

const PeakKernel& peak_kernel(Isa active) noexcept { return best_kernel<PeakKernel>(kKernels, active); }

}  // namespace jitney::kernels
