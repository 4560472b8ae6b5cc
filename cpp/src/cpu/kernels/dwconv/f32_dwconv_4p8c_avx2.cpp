// Depthwise convolution of four pixels × 8 channels at a time in AVX2 and FMA.
#include "cpu/kernels/vec_avx2.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/dwconv/dwconv_slide_impl.h"
//
#include "cpu/kernels/dwconv/dwconv_impl.h"

namespace jitney::kernels {

extern const DwConvKernel f32_dwconv_4p8c_avx2;  // const alone would hide it from other files
constinit const DwConvKernel f32_dwconv_4p8c_avx2{"f32_dwconv_4p8c_avx2", Isa::avx2,  kLanes,
                                                  slide_dwconv,           run_dwconv, epilogue_avx2};

}  // namespace jitney::kernels
