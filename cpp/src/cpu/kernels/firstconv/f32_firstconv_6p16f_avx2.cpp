// First-layer convolution of six pixels × 16 filters at a time in AVX2 and FMA.
#include "cpu/kernels/vec_avx2.h"
//
#include "cpu/kernels/firstconv/firstconv_impl.h"

namespace jitney::kernels {

extern const FirstConvKernel f32_firstconv_6p16f_avx2;  // const alone would hide it from other files
constinit const FirstConvKernel f32_firstconv_6p16f_avx2{"f32_firstconv_6p16f_avx2",
                                                         Isa::avx2,
                                                         kLanes,
                                                         3,
                                                         {8, 6, 4, 0},
                                                         {first_tiles<8, 1>, first_tiles<6, 2>, first_tiles<4, 3>, nullptr},
                                                         shift_row<float>,
                                                         shift_row<std::uint8_t>,
                                                         epilogue_avx2};

}  // namespace jitney::kernels
