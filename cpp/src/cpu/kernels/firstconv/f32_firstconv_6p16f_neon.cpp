// First-layer convolution of six pixels × 16 filters at a time in AArch64 NEON.
#include "cpu/kernels/vec_neon.h"
//
#include "cpu/kernels/firstconv/firstconv_impl.h"

namespace jitney::kernels {
namespace {

// clang-format off
// Assembly, because gcc 12 spills sums to keep all numbers at hand. Pixel p's sums are four registers from v(8 + 4p) on; the
// other eight hold its numbers and the weights of a tap.
#define JITNEY_EACH_PIXEL(X) \
  X("8", "9", "10", "11") X("12", "13", "14", "15") X("16", "17", "18", "19") \
  X("20", "21", "22", "23") X("24", "25", "26", "27") X("28", "29", "30", "31")
#define JITNEY_ZERO(a, b, c, d) \
  "movi v" a ".4s, #0\n" "movi v" b ".4s, #0\n" "movi v" c ".4s, #0\n" "movi v" d ".4s, #0\n"
#define JITNEY_BIAS(a, b, c, d) \
  "fadd v" a ".4s, v" a ".4s, v0.4s\n" "fadd v" b ".4s, v" b ".4s, v1.4s\n" \
  "fadd v" c ".4s, v" c ".4s, v2.4s\n" "fadd v" d ".4s, v" d ".4s, v3.4s\n"
#define JITNEY_LIMIT(op, a, b, c, d, bound) \
  op " v" a ".4s, v" a ".4s, " bound ".4s\n" op " v" b ".4s, v" b ".4s, " bound ".4s\n" \
  op " v" c ".4s, v" c ".4s, " bound ".4s\n" op " v" d ".4s, v" d ".4s, " bound ".4s\n"
#define JITNEY_AT_LEAST(a, b, c, d) JITNEY_LIMIT("fmax", a, b, c, d, "v0")
#define JITNEY_AT_MOST(a, b, c, d) JITNEY_LIMIT("fmin", a, b, c, d, "v1")
#define JITNEY_STORE(a, b, c, d) "stp q" a ", q" b ", [x5]\n" "stp q" c ", q" d ", [x5, #32]\n" "add x5, x5, x12\n"
#define JITNEY_PRODUCT(sum, number, weights) "fmla v" sum ".4s, v" weights ".4s, v" number "\n"
// Six pixels times one vector of weights; `n0` … `n5` are their numbers.
#define JITNEY_VECTOR(s0, s1, s2, s3, s4, s5, weights, n0, n1, n2, n3, n4, n5) \
  JITNEY_PRODUCT(s0, n0, weights) JITNEY_PRODUCT(s1, n1, weights) JITNEY_PRODUCT(s2, n2, weights) \
  JITNEY_PRODUCT(s3, n3, weights) JITNEY_PRODUCT(s4, n4, weights) JITNEY_PRODUCT(s5, n5, weights)
#define JITNEY_HALF(a0, a1, a2, a3, a4, a5, b0, b1, b2, b3, b4, b5, left, right, ...) \
  JITNEY_VECTOR(a0, a1, a2, a3, a4, a5, left, __VA_ARGS__) JITNEY_VECTOR(b0, b1, b2, b3, b4, b5, right, __VA_ARGS__)
#define JITNEY_FIRST_HALF(left, right, ...) \
  JITNEY_HALF("8", "12", "16", "20", "24", "28", "9", "13", "17", "21", "25", "29", left, right, __VA_ARGS__)
#define JITNEY_SECOND_HALF(left, right, ...) \
  JITNEY_HALF("10", "14", "18", "22", "26", "30", "11", "15", "19", "23", "27", "31", left, right, __VA_ARGS__)
#define JITNEY_BESIDE "0.s[0]", "0.s[1]", "0.s[2]", "0.s[3]", "1.s[0]", "1.s[1]"
#define JITNEY_EVERY_OTHER "0.s[0]", "0.s[2]", "1.s[0]", "1.s[2]", "2.s[0]", "2.s[2]"
#define JITNEY_APART "0.s[0]", "1.s[0]", "2.s[0]", "3.s[0]", "4.s[0]", "5.s[0]"

// A tap whose numbers lie together, at the address in a register; rows of the ring reach far enough.
#define JITNEY_TAP_IN_LANES(at) \
  ".if %c[step] == 1\n" \
  "ld1 {v0.4s, v1.4s}, [" at "]\n" \
  "ld1 {v4.4s, v5.4s, v6.4s, v7.4s}, [x3], #64\n" \
  JITNEY_FIRST_HALF("4", "5", JITNEY_BESIDE) JITNEY_SECOND_HALF("6", "7", JITNEY_BESIDE) \
  ".else\n" \
  "ld1 {v0.4s, v1.4s, v2.4s}, [" at "]\n" \
  "ld1 {v4.4s, v5.4s, v6.4s, v7.4s}, [x3], #64\n" \
  JITNEY_FIRST_HALF("4", "5", JITNEY_EVERY_OTHER) JITNEY_SECOND_HALF("6", "7", JITNEY_EVERY_OTHER) \
  ".endif\n"

/// How far apart the numbers of neighbouring pixels are.
enum class Step : int { any = 0, one = 1, two = 2 };

template <Step kStep>
void six_by_sixteen(const FirstTiles& run) {
  const std::size_t bounds = (run.clamp.low != kNoClamp.low ? 1 : 0) + (run.clamp.high != kNoClamp.high ? 2 : 0);
  asm volatile(
    "ldp x7, x8, [%[run], %[taps]]\n"
    "ldp x2, x10, [%[run], %[offset]]\n"
    "ldp x11, x6, [%[run], %[w]]\n"
    "ldp x5, x12, [%[run], %[y]]\n"
    "lsl x2, x2, #2\n"
    "lsl x10, x10, #2\n"
    "lsl x12, x12, #2\n"
    ".if %c[step] == 0\n"
    "lsl x13, x10, #1\n"
    "add x14, x13, x10\n"
    "lsl x15, x10, #2\n"
    "add x16, x15, x10\n"
    ".endif\n"
    ".Ltile%=:\n"
    "mov x1, x7\n"
    "mov x3, x11\n"
    JITNEY_EACH_PIXEL(JITNEY_ZERO)
    ".if %c[step] == 0\n"
    "mov x4, x8\n"
    ".Ltap%=:\n"
    "ldr x9, [x1], #8\n"
    "subs x4, x4, #1\n"
    "add x9, x9, x2\n"
    "ldp q6, q7, [x3], #32\n"
    "ldr s0, [x9]\n"
    "ldr s1, [x9, x10]\n"
    "ldr s2, [x9, x13]\n"
    "ldr s3, [x9, x14]\n"
    "ldr s4, [x9, x15]\n"
    "ldr s5, [x9, x16]\n"
    JITNEY_FIRST_HALF("6", "7", JITNEY_APART)
    "ldp q6, q7, [x3], #32\n"
    JITNEY_SECOND_HALF("6", "7", JITNEY_APART)
    "b.ne .Ltap%=\n"
    ".else\n"
    "lsr x4, x8, #1\n"
    "tbz x8, #0, .Leven%=\n"
    "ldr x9, [x1], #8\n"
    "add x9, x9, x2\n"
    JITNEY_TAP_IN_LANES("x9")
    ".Leven%=:\n"
    "cbz x4, .Lsums%=\n"
    ".Lpair%=:\n"
    "ldp x9, x13, [x1], #16\n"
    "subs x4, x4, #1\n"
    "add x9, x9, x2\n"
    "add x13, x13, x2\n"
    JITNEY_TAP_IN_LANES("x9")
    JITNEY_TAP_IN_LANES("x13")
    "b.ne .Lpair%=\n"
    ".Lsums%=:\n"
    ".endif\n"
    "ldr x9, [%[run], %[bias]]\n"
    "cbz x9, .Lno_bias%=\n"
    "ldp q0, q1, [x9]\n"
    "ldp q2, q3, [x9, #32]\n"
    JITNEY_EACH_PIXEL(JITNEY_BIAS)
    ".Lno_bias%=:\n"
    "ldp s0, s1, [%[run], %[clamp]]\n"
    "tbz %[bounds], #0, .Lno_low%=\n"
    "dup v0.4s, v0.s[0]\n"
    JITNEY_EACH_PIXEL(JITNEY_AT_LEAST)
    ".Lno_low%=:\n"
    "tbz %[bounds], #1, .Lno_high%=\n"
    "dup v1.4s, v1.s[0]\n"
    JITNEY_EACH_PIXEL(JITNEY_AT_MOST)
    ".Lno_high%=:\n"
    "add x9, x10, x10, lsl #1\n"
    "add x2, x2, x9, lsl #1\n"
    "subs x6, x6, #1\n"
    JITNEY_EACH_PIXEL(JITNEY_STORE)
    "b.ne .Ltile%=\n"
    :
    : [run] "r"(&run), [bounds] "r"(bounds), [step] "i"(static_cast<int>(kStep)), [taps] "i"(offsetof(FirstTiles, taps)),
      [offset] "i"(offsetof(FirstTiles, offset)), [w] "i"(offsetof(FirstTiles, w)), [y] "i"(offsetof(FirstTiles, y)),
      [bias] "i"(offsetof(FirstTiles, bias)), [clamp] "i"(offsetof(FirstTiles, clamp))
    : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "cc", "memory",
      "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18",
      "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}
// clang-format on

void six_by_sixteen_any(const FirstTiles& run) {
  if (run.tiles == 0) return;
  if (run.pixel_step == 1) return six_by_sixteen<Step::one>(run);
  if (run.pixel_step == 2) return six_by_sixteen<Step::two>(run);
  six_by_sixteen<Step::any>(run);
}

}  // namespace

extern const FirstConvKernel f32_firstconv_6p16f_neon;  // const alone would hide it from other files
constinit const FirstConvKernel f32_firstconv_6p16f_neon{
    "f32_firstconv_6p16f_neon",
    Isa::neon,
    kLanes,
    4,
    {12, 8, 6, 6},
    {first_tiles<12, 1>, first_tiles<8, 2>, first_tiles<6, 3>, six_by_sixteen_any},
    shift_row<float>,
    shift_row<std::uint8_t>,
    epilogue_neon};

}  // namespace jitney::kernels
