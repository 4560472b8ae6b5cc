// Softmax kernels in AVX-512.
#include "cpu/kernels/vec_avx512.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/softmax/softmax_impl.h"

namespace jitney::kernels {

extern const SoftmaxKernel f32_softmax_avx512;  // const alone would hide it from other files
constinit const SoftmaxKernel f32_softmax_avx512{"f32_softmax_avx512", Isa::avx512, softmax_row, log_softmax_row};

}  // namespace jitney::kernels
