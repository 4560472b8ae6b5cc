// Attention kernels in AArch64 NEON.
#include "cpu/kernels/vec_neon.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/attention/attention_impl.h"

namespace jitney::kernels {

extern const AttentionKernel f32_attention_neon;  // const alone would hide it from other files
constinit const AttentionKernel f32_attention_neon{"f32_attention_neon", Isa::neon, soften,   score_row,
                                                   add_weighted,         scale_run, pack_rows};

}  // namespace jitney::kernels
