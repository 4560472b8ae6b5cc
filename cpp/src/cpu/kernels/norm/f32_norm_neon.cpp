// Norm kernels in AArch64 NEON.
#include "cpu/kernels/vec_neon.h"
//
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/norm/norm_impl.h"

namespace jitney::kernels {

extern const NormKernel f32_norm_neon;  // const alone would hide it from other files
constinit const NormKernel f32_norm_neon{"f32_norm_neon", Isa::neon, row_moments,    row_squares,
                                         normalise_row,   shift_row, column_moments, normalise_columns};

}  // namespace jitney::kernels
