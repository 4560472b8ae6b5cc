// Reductions in AVX2.
#include "cpu/kernels/vec_avx2.h"
//
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/reduce/reduce_impl.h"

namespace jitney::kernels {

extern const ReduceKernels f32_reduce_avx2;  // const alone would hide it from other files
constinit const ReduceKernels f32_reduce_avx2{
    "f32_reduce_avx2", Isa::avx2, {make<Sum>(), make<AbsSum>(), make<SquareSum>(), make<Max>(), make<Min>()}};

}  // namespace jitney::kernels
