// Norm kernels in portable C++.
#include "cpu/kernels/vec_scalar.h"
//
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/norm/norm_impl.h"

namespace jitney::kernels {

extern const NormKernel f32_norm_scalar;  // const alone would hide it from other files
constinit const NormKernel f32_norm_scalar{"f32_norm_scalar", Isa::scalar, row_moments,    row_squares,
                                           normalise_row,     shift_row,   column_moments, normalise_columns};

}  // namespace jitney::kernels
