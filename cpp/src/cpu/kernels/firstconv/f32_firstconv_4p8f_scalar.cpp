// First-layer convolution of four pixels × 8 filters at a time in portable C++.
#include "cpu/kernels/vec_scalar.h"
//
#include "cpu/kernels/firstconv/firstconv_impl.h"

namespace jitney::kernels {

extern const FirstConvKernel f32_firstconv_4p8f_scalar;  // const alone would hide it from other files
constinit const FirstConvKernel f32_firstconv_4p8f_scalar{"f32_firstconv_4p8f_scalar",
                                                          Isa::scalar,
                                                          kLanes,
                                                          2,
                                                          {4, 4, 0, 0},
                                                          {first_tiles<4, 1>, first_tiles<4, 2>, nullptr, nullptr},
                                                          shift_row<float>,
                                                          shift_row<std::uint8_t>,
                                                          epilogue_scalar};

}  // namespace jitney::kernels
