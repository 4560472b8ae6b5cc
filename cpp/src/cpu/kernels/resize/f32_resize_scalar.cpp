// Interpolation in portable C++.
#include "cpu/kernels/vec_scalar.h"
//
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/resize/resize_impl.h"

namespace jitney::kernels {

extern const ResizeKernel f32_resize_scalar;  // const alone would hide it from other files
constinit const ResizeKernel f32_resize_scalar{"f32_resize_scalar", Isa::scalar, blend};

}  // namespace jitney::kernels
