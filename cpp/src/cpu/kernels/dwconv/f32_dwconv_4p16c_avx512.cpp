// Depthwise convolution of four pixels × 16 channels at a time in AVX-512.
#include "cpu/kernels/vec_avx512.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/dwconv/dwconv_slide_impl.h"
//
#include "cpu/kernels/dwconv/dwconv_impl.h"

namespace jitney::kernels {

extern const DwConvKernel f32_dwconv_4p16c_avx512;  // const alone would hide it from other files
constinit const DwConvKernel f32_dwconv_4p16c_avx512{
    "f32_dwconv_4p16c_avx512", Isa::avx512, kLanes, slide_dwconv, run_dwconv, epilogue_avx512};

}  // namespace jitney::kernels
