// First-layer convolution of six pixels × 16 filters at a time in AArch64 NEON.
#include "cpu/kernels/vec_neon.h"
//
#include "cpu/kernels/firstconv/firstconv_impl.h"

namespace jitney::kernels {

extern const FirstConvKernel f32_firstconv_6p16f_neon;  // const alone would hide it from other files
constinit const FirstConvKernel f32_firstconv_6p16f_neon{
    "f32_firstconv_6p16f_neon",
    Isa::neon,
    kLanes,
    4,
    {12, 8, 8, 6},
    {first_tiles<12, 1>, first_tiles<8, 2>, first_tiles<8, 3>, first_tiles<6, 4>},
    shift_row<float>,
    shift_row<std::uint8_t>,
    epilogue_neon};

}  // namespace jitney::kernels
