// Pooling in AArch64 NEON.
#include "cpu/kernels/vec_neon.h"
//
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/pool/pool_impl.h"

namespace jitney::kernels {

extern const PoolKernel f32_pool_4c_neon;  // const alone would hide it from other files
constinit const PoolKernel f32_pool_4c_neon{"f32_pool_4c_neon", Isa::neon, max_window, average_window};

}  // namespace jitney::kernels
