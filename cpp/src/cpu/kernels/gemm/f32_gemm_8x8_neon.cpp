// GEMM register tile of 8×8 floats for AArch64 NEON on cores that reorder instructions: few, wide loads.
#include <cstddef>

#include "cpu/kernels/gemm/panel_neon.h"
//
#include "cpu/kernels/gemm/tile_text_neon.h"

namespace jitney::kernels {
namespace {

// clang-format off
#define JITNEY_LOAD(r, left, right, a, pointer) "ldr q" a ", [" pointer "], #16\n"
#define JITNEY_LOAD_B "ld1 {v8.4s, v9.4s, v10.4s, v11.4s}, [x5], #64\n"

struct Wide {
  template <std::size_t kUsed, Source kSource>
  static void run(const TileRun& run) {
    asm volatile(
      JITNEY_BEGIN
      ".Lblock%=:\n"
      JITNEY_IF_COPIED
      "ld1 {v0.4s, v1.4s, v2.4s, v3.4s}, [x7], #64\n"
      JITNEY_LOAD_B
      JITNEY_IF_ROW(4) "ld1 {v4.4s, v5.4s, v6.4s, v7.4s}, [x7], #64\n" JITNEY_END
      JITNEY_ELSE
      JITNEY_EACH_ROW(JITNEY_LOAD)
      JITNEY_LOAD_B
      JITNEY_END
      "subs x16, x16, #1\n"
      JITNEY_STEP(0, "8", "9", JITNEY_NOTHING)
      JITNEY_STEP(1, "10", "11", JITNEY_NOTHING)
      JITNEY_LOAD_B
      JITNEY_IF_COPYING
      "st1 {v0.4s, v1.4s, v2.4s, v3.4s}, [x7], #64\n"
      JITNEY_IF_ROW(4) "st1 {v4.4s, v5.4s, v6.4s, v7.4s}, [x7], #64\n" JITNEY_END
      JITNEY_END
      JITNEY_STEP(2, "8", "9", JITNEY_NOTHING)
      JITNEY_STEP(3, "10", "11", JITNEY_NOTHING)
      "b.ne .Lblock%=\n"
      JITNEY_FINISH
      JITNEY_OPERANDS);
  }
};
// clang-format on

}  // namespace

extern const GemmKernel f32_gemm_8x8_neon;  // const alone would hide it from other files
constinit const GemmKernel f32_gemm_8x8_neon{
    "f32_gemm_8x8_neon", Isa::neon,          kRows, kColumns,        {}, kWidePanels, wide_row, epilogue_neon,
    run_panel<Wide>,     Core::out_of_order, true,  run_series<Wide>};

}  // namespace jitney::kernels
