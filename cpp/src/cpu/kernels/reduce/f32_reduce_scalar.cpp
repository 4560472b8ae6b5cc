// Reductions in portable C++.
#include "cpu/kernels/vec_scalar.h"
//
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/reduce/reduce_impl.h"

namespace jitney::kernels {

extern const ReduceKernels f32_reduce_scalar;  // const alone would hide it from other files
constinit const ReduceKernels f32_reduce_scalar{
    "f32_reduce_scalar", Isa::scalar, {make<Sum>(), make<AbsSum>(), make<SquareSum>(), make<Max>(), make<Min>()}};

}  // namespace jitney::kernels
