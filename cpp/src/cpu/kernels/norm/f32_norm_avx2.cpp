// Norm kernels in AVX2 and FMA.
#include "cpu/kernels/vec_avx2.h"
//
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/norm/norm_impl.h"

namespace jitney::kernels {

extern const NormKernel f32_norm_avx2;  // const alone would hide it from other files
constinit const NormKernel f32_norm_avx2{"f32_norm_avx2", Isa::avx2, row_moments,    row_squares,
                                         normalise_row,   shift_row, column_moments, normalise_columns};

}  // namespace jitney::kernels
