// Winograd's transforms for 16 channels at a time in AVX-512.
#include "cpu/kernels/vec_avx512.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/winograd/winograd_impl.h"

namespace jitney::kernels {

extern const WinogradKernel f32_winograd_4x4_16c_avx512;  // const alone would hide it from other files
constinit const WinogradKernel f32_winograd_4x4_16c_avx512{"f32_winograd_4x4_16c_avx512", Isa::avx512, kLanes, winograd_input,
                                                           winograd_output};

}  // namespace jitney::kernels
