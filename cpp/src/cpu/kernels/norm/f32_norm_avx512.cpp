// Norm kernels in AVX-512.
#include "cpu/kernels/vec_avx512.h"
//
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/norm/norm_impl.h"

namespace jitney::kernels {

extern const NormKernel f32_norm_avx512;  // const alone would hide it from other files
constinit const NormKernel f32_norm_avx512{"f32_norm_avx512", Isa::avx512, row_moments,    row_squares,
                                           normalise_row,     shift_row,   column_moments, normalise_columns};

}  // namespace jitney::kernels
