// Packing of B into panels of nr columns.
#include <algorithm>

#include "cpu/kernels/gemm/gemm.h"

namespace jitney::kernels {

std::size_t packed_b_size(const GemmKernel& kernel, std::size_t k, std::size_t n) noexcept {
  return (n + kernel.nr - 1) / kernel.nr * kernel.nr * k;
}

void pack_b(const GemmKernel& kernel, std::size_t k, std::size_t n, const float* b, std::ptrdiff_t row_stride,
            std::ptrdiff_t column_stride, float* packed, std::size_t first, std::size_t last) noexcept {
  const std::size_t nr = kernel.nr;
  for (std::size_t panel = first; panel < last; ++panel) {
    const std::size_t used = std::min(nr, n - panel * nr);
    const float* source = b + static_cast<std::ptrdiff_t>(panel * nr) * column_stride;
    float* target = packed + panel * nr * k;
    if (column_stride == 1) {
      for (std::size_t i = 0; i < k; ++i, source += row_stride, target += nr) {
        std::copy_n(source, used, target);
        std::fill(target + used, target + nr, 0.0f);
      }
      continue;
    }
    // Along k first where that is the contiguous axis, in blocks whose part of the panel stays in cache.
    constexpr std::size_t kBlock = 64;
    for (std::size_t i0 = 0; i0 < k; i0 += kBlock) {
      const std::size_t i1 = std::min(k, i0 + kBlock);
      for (std::size_t j = 0; j < used; ++j) {
        const float* column = source + static_cast<std::ptrdiff_t>(j) * column_stride;
        for (std::size_t i = i0; i < i1; ++i) target[i * nr + j] = column[static_cast<std::ptrdiff_t>(i) * row_stride];
      }
      for (std::size_t j = used; j < nr; ++j) {
        for (std::size_t i = i0; i < i1; ++i) target[i * nr + j] = 0.0f;
      }
    }
  }
}

void pack_b(const GemmKernel& kernel, std::size_t k, std::size_t n, const float* b, std::ptrdiff_t row_stride,
            std::ptrdiff_t column_stride, float* packed) noexcept {
  pack_b(kernel, k, n, b, row_stride, column_stride, packed, 0, (n + kernel.nr - 1) / kernel.nr);
}

}  // namespace jitney::kernels
