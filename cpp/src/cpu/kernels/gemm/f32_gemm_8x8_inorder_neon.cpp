// GEMM register tile of 8×8 floats for AArch64 NEON on cores that start instructions in their order, two at a time.
//
// Each load, of 64 bits where that is enough, stands beside a product, and several products before its first use: halves of a
// block of four steps of k are loaded while the half before is multiplied.
#include <cstddef>

#include "cpu/kernels/gemm/panel_neon.h"
//
#include "cpu/kernels/gemm/tile_text_neon.h"

namespace jitney::kernels {
namespace {

// clang-format off
// Row r's two values of A for the half at `offset` bytes of the copy, or at x17 bytes of the rows.
#define JITNEY_LOAD(r, pointer, offset) \
  JITNEY_IF_ROW(r) \
  JITNEY_IF_COPIED "ldr d" #r ", [x7, #" offset "]\n" JITNEY_ELSE "ldr d" #r ", [" pointer ", x17]\n" JITNEY_END \
  JITNEY_END
#define JITNEY_COPY(r, offset) JITNEY_IF_ROW(r) JITNEY_IF_COPYING "str d" #r ", [x7, #" #offset "]\n" JITNEY_END JITNEY_END

// What stands after the products of row r: in step 0, the loads of B's second half and the copy of A's first;
#define JITNEY_0(r) JITNEY_0_##r
#define JITNEY_0_0 "ldr q12, [x5, #64]\n" JITNEY_COPY(0, 0)
#define JITNEY_0_1 JITNEY_COPY(1, 16)
#define JITNEY_0_2 "ldr q13, [x5, #80]\n" JITNEY_COPY(2, 32)
#define JITNEY_0_3 JITNEY_COPY(3, 48)
#define JITNEY_0_4 "ldr q14, [x5, #96]\n" JITNEY_COPY(4, 64)
#define JITNEY_0_5 JITNEY_COPY(5, 80)
#define JITNEY_0_6 "ldr q15, [x5, #112]\n" JITNEY_COPY(6, 96)
#define JITNEY_0_7 JITNEY_COPY(7, 112) "add x17, x17, #8\n"
// in step 1, A's second half;
#define JITNEY_1(r) JITNEY_1_##r
#define JITNEY_1_0 JITNEY_LOAD(0, "x8", "8")
#define JITNEY_1_1 JITNEY_LOAD(1, "x9", "24")
#define JITNEY_1_2 JITNEY_LOAD(2, "x10", "40")
#define JITNEY_1_3 JITNEY_LOAD(3, "x11", "56")
#define JITNEY_1_4 JITNEY_LOAD(4, "x12", "72")
#define JITNEY_1_5 JITNEY_LOAD(5, "x13", "88")
#define JITNEY_1_6 JITNEY_LOAD(6, "x14", "104")
#define JITNEY_1_7 JITNEY_LOAD(7, "x15", "120") "add x17, x17, #8\n"
// in step 2, the first half of B's next block, if there is one, and the copy of A's second half;
#define JITNEY_2(r) JITNEY_2_##r
#define JITNEY_2_0 "ldr q8, [x5, #128]\n" JITNEY_COPY(0, 8)
#define JITNEY_2_1 JITNEY_COPY(1, 24)
#define JITNEY_2_2 "ldr q9, [x5, #144]\n" JITNEY_COPY(2, 40)
#define JITNEY_2_3 JITNEY_COPY(3, 56)
#define JITNEY_2_4 "ldr q10, [x5, #160]\n" JITNEY_COPY(4, 72)
#define JITNEY_2_5 JITNEY_COPY(5, 88)
#define JITNEY_2_6 "ldr q11, [x5, #176]\n" JITNEY_COPY(6, 104)
#define JITNEY_2_7 JITNEY_COPY(7, 120)
#define JITNEY_LAST_2(r) JITNEY_LAST_2_##r
#define JITNEY_LAST_2_0 JITNEY_COPY(0, 8)
#define JITNEY_LAST_2_1 JITNEY_COPY(1, 24)
#define JITNEY_LAST_2_2 JITNEY_COPY(2, 40)
#define JITNEY_LAST_2_3 JITNEY_COPY(3, 56)
#define JITNEY_LAST_2_4 JITNEY_COPY(4, 72)
#define JITNEY_LAST_2_5 JITNEY_COPY(5, 88)
#define JITNEY_LAST_2_6 JITNEY_COPY(6, 104)
#define JITNEY_LAST_2_7 JITNEY_COPY(7, 120)
// in step 3, the first half of A's next block.
#define JITNEY_3(r) JITNEY_3_##r
#define JITNEY_3_0 "subs x16, x16, #1\n" JITNEY_LOAD(0, "x8", JITNEY_BLOCK)
#define JITNEY_3_1 JITNEY_LOAD(1, "x9", JITNEY_BLOCK "+16")
#define JITNEY_3_2 "add x5, x5, #128\n" JITNEY_LOAD(2, "x10", JITNEY_BLOCK "+32")
#define JITNEY_3_3 JITNEY_LOAD(3, "x11", JITNEY_BLOCK "+48")
#define JITNEY_3_4 JITNEY_LOAD(4, "x12", JITNEY_BLOCK "+64")
#define JITNEY_3_5 JITNEY_LOAD(5, "x13", JITNEY_BLOCK "+80")
#define JITNEY_3_6 JITNEY_LOAD(6, "x14", JITNEY_BLOCK "+96")
#define JITNEY_3_7 JITNEY_LOAD(7, "x15", JITNEY_BLOCK "+112") ".if %c[source] != 0\n" "add x7, x7, #" JITNEY_BLOCK "\n" JITNEY_END
#define JITNEY_BLOCK "%c[block]"  // bytes of a block of the copy
#define JITNEY_ADVANCE(r, left, right, a, pointer) "add " pointer ", " pointer ", x17\n"

struct Interleaved {
  template <std::size_t kUsed, Source kSource>
  static void run(const TileRun& run) {
    asm volatile(
      JITNEY_BEGIN
      "mov x17, #0\n"
      "ldr q8, [x5]\n"
      "ldr q9, [x5, #16]\n"
      JITNEY_LOAD(0, "x8", "0") JITNEY_LOAD(1, "x9", "16") JITNEY_LOAD(2, "x10", "32") JITNEY_LOAD(3, "x11", "48")
      JITNEY_LOAD(4, "x12", "64") JITNEY_LOAD(5, "x13", "80") JITNEY_LOAD(6, "x14", "96") JITNEY_LOAD(7, "x15", "112")
      "ldr q10, [x5, #32]\n"
      "ldr q11, [x5, #48]\n"
      "subs x16, x16, #1\n"
      "b.eq .Llast%=\n"
      ".Lblock%=:\n"
      JITNEY_STEP(0, "8", "9", JITNEY_0)
      JITNEY_STEP(1, "10", "11", JITNEY_1)
      JITNEY_STEP(0, "12", "13", JITNEY_2)
      JITNEY_STEP(1, "14", "15", JITNEY_3)
      "b.ne .Lblock%=\n"
      ".Llast%=:\n"
      JITNEY_STEP(0, "8", "9", JITNEY_0)
      JITNEY_STEP(1, "10", "11", JITNEY_1)
      JITNEY_STEP(0, "12", "13", JITNEY_LAST_2)
      JITNEY_STEP(1, "14", "15", JITNEY_NOTHING)
      "add x5, x5, #128\n"
      ".if %c[source] != 0\n" "add x7, x7, #" JITNEY_BLOCK "\n" JITNEY_END
      JITNEY_IF_ROWS  // for the steps that are left
      JITNEY_EACH_ROW(JITNEY_ADVANCE)
      JITNEY_END
      JITNEY_FINISH
      JITNEY_OPERANDS);
  }
};
// clang-format on

}  // namespace

extern const GemmKernel f32_gemm_8x8_inorder_neon;  // const alone would hide it from other files
constinit const GemmKernel f32_gemm_8x8_inorder_neon{"f32_gemm_8x8_inorder_neon",
                                                     Isa::neon,
                                                     kRows,
                                                     kColumns,
                                                     {},
                                                     kWidePanels,
                                                     wide_row,
                                                     epilogue_neon,
                                                     run_panel<Interleaved>,
                                                     Core::in_order,
                                                     true,
                                                     run_series<Interleaved>};

}  // namespace jitney::kernels
