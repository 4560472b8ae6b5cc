// Attention kernels in portable C++.
#include "cpu/kernels/vec_scalar.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/attention/attention_impl.h"

namespace jitney::kernels {

extern const AttentionKernel f32_attention_scalar;  // const alone would hide it from other files
constinit const AttentionKernel f32_attention_scalar{"f32_attention_scalar", Isa::scalar, soften,   score_row,
                                                     add_weighted,           scale_run,   pack_rows};

}  // namespace jitney::kernels
