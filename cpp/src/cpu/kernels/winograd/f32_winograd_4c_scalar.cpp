// Winograd's transforms for 4 channels at a time in plain C++.
#include "cpu/kernels/vec_scalar.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/winograd/winograd_impl.h"

namespace jitney::kernels {

extern const WinogradKernel f32_winograd_2x2_4c_scalar;  // const alone would hide it from other files
extern const WinogradKernel f32_winograd_4x4_4c_scalar;
constinit const WinogradKernel f32_winograd_2x2_4c_scalar = winograd_of<Tile2>("f32_winograd_2x2_4c_scalar", Isa::scalar);
constinit const WinogradKernel f32_winograd_4x4_4c_scalar = winograd_of<Tile4>("f32_winograd_4x4_4c_scalar", Isa::scalar);

}  // namespace jitney::kernels
