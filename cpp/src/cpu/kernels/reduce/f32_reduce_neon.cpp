// Reductions in AArch64 NEON.
#include "cpu/kernels/vec_neon.h"
//
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/reduce/reduce_impl.h"

namespace jitney::kernels {

extern const ReduceKernels f32_reduce_neon;  // const alone would hide it from other files
constinit const ReduceKernels f32_reduce_neon{
    "f32_reduce_neon", Isa::neon, {make<Sum>(), make<AbsSum>(), make<SquareSum>(), make<Max>(), make<Min>()}};

}  // namespace jitney::kernels
