// Pooling in AVX2.
#include "cpu/kernels/vec_avx2.h"
//
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/pool/pool_impl.h"

namespace jitney::kernels {

extern const PoolKernel f32_pool_8c_avx2;  // const alone would hide it from other files
constinit const PoolKernel f32_pool_8c_avx2{"f32_pool_8c_avx2", Isa::avx2, max_window, average_window};

}  // namespace jitney::kernels
