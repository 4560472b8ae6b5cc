// Attention kernels in AVX-512.
#include "cpu/kernels/vec_avx512.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/attention/attention_impl.h"

namespace jitney::kernels {

extern const AttentionKernel f32_attention_avx512;  // const alone would hide it from other files
constinit const AttentionKernel f32_attention_avx512{"f32_attention_avx512", Isa::avx512, soften,   score_row,
                                                     add_weighted,           scale_run,   pack_rows};

}  // namespace jitney::kernels
