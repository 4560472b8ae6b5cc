// Reductions in AVX-512.
#include "cpu/kernels/vec_avx512.h"
//
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/reduce/reduce_impl.h"

namespace jitney::kernels {

extern const ReduceKernels f32_reduce_avx512;  // const alone would hide it from other files
constinit const ReduceKernels f32_reduce_avx512{
    "f32_reduce_avx512", Isa::avx512, {make<Sum>(), make<AbsSum>(), make<SquareSum>(), make<Max>(), make<Min>()}};

}  // namespace jitney::kernels
