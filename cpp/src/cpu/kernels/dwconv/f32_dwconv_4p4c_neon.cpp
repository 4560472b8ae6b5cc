// Depthwise convolution of four pixels × 4 channels at a time in AArch64 NEON.
#include "cpu/kernels/vec_neon.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/dwconv/dwconv_slide_impl.h"
//
#include "cpu/kernels/dwconv/dwconv_impl.h"

namespace jitney::kernels {

extern const DwConvKernel f32_dwconv_4p4c_neon;  // const alone would hide it from other files
constinit const DwConvKernel f32_dwconv_4p4c_neon{"f32_dwconv_4p4c_neon", Isa::neon,  kLanes,
                                                  slide_dwconv,           run_dwconv, epilogue_neon};

}  // namespace jitney::kernels
