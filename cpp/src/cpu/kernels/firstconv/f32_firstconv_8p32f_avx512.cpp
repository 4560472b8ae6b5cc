// First-layer convolution of eight pixels × 32 filters at a time in AVX-512.
#include "cpu/kernels/vec_avx512.h"
//
#include "cpu/kernels/firstconv/firstconv_impl.h"

namespace jitney::kernels {

extern const FirstConvKernel f32_firstconv_8p32f_avx512;  // const alone would hide it from other files
constinit const FirstConvKernel f32_firstconv_8p32f_avx512{"f32_firstconv_8p32f_avx512",
                                                           Isa::avx512,
                                                           kLanes,
                                                           3,
                                                           {8, 8, 8, 0},
                                                           {first_tiles<8, 1>, first_tiles<8, 2>, first_tiles<8, 3>, nullptr},
                                                           shift_row<float>,
                                                           shift_row<std::uint8_t>,
                                                           epilogue_avx512};

}  // namespace jitney::kernels
