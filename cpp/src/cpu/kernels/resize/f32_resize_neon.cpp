// Interpolation in AArch64 NEON.
#include "cpu/kernels/vec_neon.h"
//
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/resize/resize_impl.h"

namespace jitney::kernels {

extern const ResizeKernel f32_resize_neon;  // const alone would hide it from other files
constinit const ResizeKernel f32_resize_neon{"f32_resize_neon", Isa::neon, blend};

}  // namespace jitney::kernels
