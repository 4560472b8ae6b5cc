// Attention kernels in AVX2 and FMA.
#include "cpu/kernels/vec_avx2.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/attention/attention_impl.h"

namespace jitney::kernels {

extern const AttentionKernel f32_attention_avx2;  // const alone would hide it from other files
constinit const AttentionKernel f32_attention_avx2{"f32_attention_avx2", Isa::avx2, soften,   score_row,
                                                   add_weighted,         scale_run, pack_rows};

}  // namespace jitney::kernels
