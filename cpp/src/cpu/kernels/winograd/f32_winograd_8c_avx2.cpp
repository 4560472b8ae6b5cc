// Winograd's transforms for 8 channels at a time in AVX2 and FMA.
#include "cpu/kernels/vec_avx2.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/winograd/winograd_impl.h"

namespace jitney::kernels {

extern const WinogradKernel f32_winograd_2x2_8c_avx2;  // const alone would hide it from other files
extern const WinogradKernel f32_winograd_4x4_8c_avx2;
constinit const WinogradKernel f32_winograd_2x2_8c_avx2 = winograd_of<Tile2>("f32_winograd_2x2_8c_avx2", Isa::avx2);
constinit const WinogradKernel f32_winograd_4x4_8c_avx2 = winograd_of<Tile4>("f32_winograd_4x4_8c_avx2", Isa::avx2);

}  // namespace jitney::kernels
