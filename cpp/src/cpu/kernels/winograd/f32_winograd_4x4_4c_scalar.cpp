// Winograd's transforms for 4 channels at a time in plain C++.
#include "cpu/kernels/vec_scalar.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/winograd/winograd_impl.h"

namespace jitney::kernels {

extern const WinogradKernel f32_winograd_4x4_4c_scalar;  // const alone would hide it from other files
constinit const WinogradKernel f32_winograd_4x4_4c_scalar{"f32_winograd_4x4_4c_scalar", Isa::scalar, kLanes, winograd_input,
                                                          winograd_output};

}  // namespace jitney::kernels
