// The choice of resize kernels, and stretching.
#include "cpu/kernels/resize/resize.h"

#include "cpu/kernels/best_kernel.h"

namespace jitney::kernels {

#define JITNEY_RESIZE_KERNEL(name, isa, lanes, type) extern const ResizeKernel name;
#include "cpu/kernels/resize/kernels.inc"
#undef JITNEY_RESIZE_KERNEL

namespace {

#define JITNEY_RESIZE_KERNEL(name, isa, lanes, type) &name,
constexpr const ResizeKernel* kKernels[] = {
#include "cpu/kernels/resize/kernels.inc"
};
#undef JITNEY_RESIZE_KERNEL

template <std::size_t kTaps>
void stretch(const StretchTable& table, const float* row, float* y) {
  const std::size_t taps = kTaps == 0 ? table.taps : kTaps;
  const std::int32_t* offset = table.offset;
  const float* weight = table.weight;
  for (std::size_t i = 0; i < table.count; ++i, offset += taps, weight += taps) {
    float sum = row[offset[0]] * weight[0];
    for (std::size_t t = 1; t < taps; ++t) sum += row[offset[t]] * weight[t];
    y[i] = sum;
  }
}

}  // namespace

void f32_stretch(const StretchTable& table, const float* row, float* y) noexcept {
  if (table.taps == 2) return stretch<2>(table, row, y);
  if (table.taps == 4) return stretch<4>(table, row, y);
  stretch<0>(table, row, y);
}

std::span<const ResizeKernel* const> resize_kernels() noexcept { return kKernels; }

const ResizeKernel& resize_kernel(Isa active) noexcept { return best_kernel<ResizeKernel>(kKernels, active); }

}  // namespace jitney::kernels
