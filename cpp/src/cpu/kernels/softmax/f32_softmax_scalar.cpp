// Softmax kernels in portable C++.
#include "cpu/kernels/vec_scalar.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/softmax/softmax_impl.h"

namespace jitney::kernels {

extern const SoftmaxKernel f32_softmax_scalar;  // const alone would hide it from other files
constinit const SoftmaxKernel f32_softmax_scalar{"f32_softmax_scalar", Isa::scalar, softmax_row, log_softmax_row};

}  // namespace jitney::kernels
