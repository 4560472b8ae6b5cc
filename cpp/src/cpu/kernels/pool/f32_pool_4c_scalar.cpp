// Pooling in portable C++.
#include "cpu/kernels/vec_scalar.h"
//
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/pool/pool_impl.h"

namespace jitney::kernels {

extern const PoolKernel f32_pool_4c_scalar;  // const alone would hide it from other files
constinit const PoolKernel f32_pool_4c_scalar{"f32_pool_4c_scalar", Isa::scalar, max_window, average_window};

}  // namespace jitney::kernels
