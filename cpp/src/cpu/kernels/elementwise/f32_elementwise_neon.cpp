// Elementwise kernels in AArch64 NEON.
#include "cpu/kernels/vec_neon.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/elementwise/elementwise_impl.h"

namespace jitney::kernels {

extern const ElementwiseKernels f32_elementwise_neon;  // const alone would hide it from other files
constinit const ElementwiseKernels f32_elementwise_neon{"f32_elementwise_neon", Isa::neon, vector_unary, vector_binary};

}  // namespace jitney::kernels
