// Elementwise kernels in AVX-512.
#include "cpu/kernels/vec_avx512.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/elementwise/elementwise_impl.h"

namespace jitney::kernels {

extern const ElementwiseKernels f32_elementwise_avx512;  // const alone would hide it from other files
constinit const ElementwiseKernels f32_elementwise_avx512{"f32_elementwise_avx512", Isa::avx512, vector_unary, vector_binary};

}  // namespace jitney::kernels
