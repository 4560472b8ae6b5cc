// Softmax kernels in AArch64 NEON.
#include "cpu/kernels/vec_neon.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/softmax/softmax_impl.h"

namespace jitney::kernels {

extern const SoftmaxKernel f32_softmax_neon;  // const alone would hide it from other files
constinit const SoftmaxKernel f32_softmax_neon{"f32_softmax_neon", Isa::neon, softmax_row, log_softmax_row};

}  // namespace jitney::kernels
