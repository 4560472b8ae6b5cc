// Interpolation in AVX2.
#include "cpu/kernels/vec_avx2.h"
//
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/resize/resize_impl.h"

namespace jitney::kernels {

extern const ResizeKernel f32_resize_avx2;  // const alone would hide it from other files
constinit const ResizeKernel f32_resize_avx2{"f32_resize_avx2", Isa::avx2, blend};

}  // namespace jitney::kernels
