// Elementwise kernels in AVX2 and FMA.
#include "cpu/kernels/vec_avx2.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/elementwise/elementwise_impl.h"

namespace jitney::kernels {

extern const ElementwiseKernels f32_elementwise_avx2;  // const alone would hide it from other files
constinit const ElementwiseKernels f32_elementwise_avx2{"f32_elementwise_avx2", Isa::avx2, vector_unary, vector_binary};

}  // namespace jitney::kernels
