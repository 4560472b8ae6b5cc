// Softmax kernels in AVX2 and FMA.
#include "cpu/kernels/vec_avx2.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/softmax/softmax_impl.h"

namespace jitney::kernels {

extern const SoftmaxKernel f32_softmax_avx2;  // const alone would hide it from other files
constinit const SoftmaxKernel f32_softmax_avx2{"f32_softmax_avx2", Isa::avx2, softmax_row, log_softmax_row};

}  // namespace jitney::kernels
