// The shared epilogue in NEON.
#include "cpu/kernels/vec_neon.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/epilogue_impl.h"

namespace jitney::kernels {

void epilogue_neon(const Epilogue& epilogue, std::size_t rows, std::size_t columns, const float* acc, std::ptrdiff_t acc_stride,
                   float* c, std::ptrdiff_t c_stride) {
  apply_epilogue(epilogue, rows, columns, acc, acc_stride, c, c_stride);
}

}  // namespace jitney::kernels
