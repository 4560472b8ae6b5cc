// Winograd's transforms for 8 channels at a time in AVX2 and FMA.
#include "cpu/kernels/vec_avx2.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/winograd/winograd_impl.h"

namespace jitney::kernels {

extern const WinogradKernel f32_winograd_4x4_8c_avx2;  // const alone would hide it from other files
constinit const WinogradKernel f32_winograd_4x4_8c_avx2{"f32_winograd_4x4_8c_avx2", Isa::avx2, kLanes, winograd_input,
                                                        winograd_output};

}  // namespace jitney::kernels
