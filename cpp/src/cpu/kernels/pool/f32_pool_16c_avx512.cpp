// Pooling in AVX-512.
#include "cpu/kernels/vec_avx512.h"
//
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/pool/pool_impl.h"

namespace jitney::kernels {

extern const PoolKernel f32_pool_16c_avx512;  // const alone would hide it from other files
constinit const PoolKernel f32_pool_16c_avx512{"f32_pool_16c_avx512", Isa::avx512, max_window, average_window};

}  // namespace jitney::kernels
