// The shared epilogue in AVX-512.
#include "cpu/kernels/vec_avx512.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/epilogue_impl.h"

namespace jitney::kernels {

void epilogue_avx512(const Epilogue& epilogue, std::size_t rows, std::size_t columns, const float* acc, std::ptrdiff_t acc_stride,
                     float* c, std::ptrdiff_t c_stride) {
  apply_epilogue(epilogue, rows, columns, acc, acc_stride, c, c_stride);
}

}  // namespace jitney::kernels
