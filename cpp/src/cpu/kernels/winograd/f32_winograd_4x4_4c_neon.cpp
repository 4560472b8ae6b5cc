// Winograd's transforms for 4 channels at a time in NEON.
#include "cpu/kernels/vec_neon.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/winograd/winograd_impl.h"

namespace jitney::kernels {

extern const WinogradKernel f32_winograd_4x4_4c_neon;  // const alone would hide it from other files
constinit const WinogradKernel f32_winograd_4x4_4c_neon{"f32_winograd_4x4_4c_neon", Isa::neon, kLanes, winograd_input,
                                                        winograd_output};

}  // namespace jitney::kernels
