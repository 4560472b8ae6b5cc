// Interpolation in AVX-512.
#include "cpu/kernels/vec_avx512.h"
//
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/resize/resize_impl.h"

namespace jitney::kernels {

extern const ResizeKernel f32_resize_avx512;  // const alone would hide it from other files
constinit const ResizeKernel f32_resize_avx512{"f32_resize_avx512", Isa::avx512, blend};

}  // namespace jitney::kernels
