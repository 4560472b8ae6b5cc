// Winograd's transforms for 16 channels at a time in AVX-512.
#include "cpu/kernels/vec_avx512.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/winograd/winograd_impl.h"

namespace jitney::kernels {

extern const WinogradKernel f32_winograd_2x2_16c_avx512;  // const alone would hide it from other files
extern const WinogradKernel f32_winograd_4x4_16c_avx512;
constinit const WinogradKernel f32_winograd_2x2_16c_avx512 = winograd_of<Tile2>("f32_winograd_2x2_16c_avx512", Isa::avx512);
constinit const WinogradKernel f32_winograd_4x4_16c_avx512 = winograd_of<Tile4>("f32_winograd_4x4_16c_avx512", Isa::avx512);

}  // namespace jitney::kernels
