// Depthwise convolution of four pixels × 4 channels at a time in portable C++.
#include "cpu/kernels/vec_scalar.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/dwconv/dwconv_slide_impl.h"
//
#include "cpu/kernels/dwconv/dwconv_impl.h"

namespace jitney::kernels {

extern const DwConvKernel f32_dwconv_4p4c_scalar;  // const alone would hide it from other files
constinit const DwConvKernel f32_dwconv_4p4c_scalar{"f32_dwconv_4p4c_scalar", Isa::scalar, kLanes, slide_dwconv, run_dwconv,
                                                    epilogue_scalar};

}  // namespace jitney::kernels
