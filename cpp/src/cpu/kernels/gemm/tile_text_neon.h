// Assembly text of which the 8×8 tiles for AArch64 NEON are put together. Included by f32_gemm_8x8_*neon.cpp only.
//
// Assembly, because gcc 12 moves and spills registers around loads of four registers at once, and because cores that start
// instructions in their order need loads and products in a certain one. Heights and sources of A are cut out of one text by the
// assembler's .if. Registers:
//   x1 c, x2 residual, x3 copy, x4 groups left, x5 b, x6 taps left, x7 the place in the copy, x8 … x15 rows, x16 steps left,
//   x17 any use, x20 a, x21 lda, x22 table, x23 k, x24 ldc, x25 bytes of a group's copy;
//   v0 … v7 A by row (lane: step of k), v8 and up B, v16 … v31 sums: two for each row.
#pragma once

// clang-format off
#define JITNEY_IF_ROW(r) ".if %c[used] > " #r "\n"
#define JITNEY_IF_ROWS ".if %c[source] != 2\n"  // A is read where it lies
#define JITNEY_IF_COPYING ".if %c[source] == 1\n"
#define JITNEY_IF_COPIED ".if %c[source] == 2\n"
#define JITNEY_ELSE ".else\n"
#define JITNEY_END ".endif\n"
#define JITNEY_FIELD(name) "[%[run], %[" #name "]]"

// each(row, left sum, right sum, vector of A, pointer) for the rows that the tile has.
#define JITNEY_ROW(each, r, left, right, a, pointer) JITNEY_IF_ROW(r) each(r, left, right, a, pointer) JITNEY_END
#define JITNEY_EACH_ROW(each) \
  JITNEY_ROW(each, 0, "16", "17", "0", "x8") JITNEY_ROW(each, 1, "18", "19", "1", "x9") \
  JITNEY_ROW(each, 2, "20", "21", "2", "x10") JITNEY_ROW(each, 3, "22", "23", "3", "x11") \
  JITNEY_ROW(each, 4, "24", "25", "4", "x12") JITNEY_ROW(each, 5, "26", "27", "5", "x13") \
  JITNEY_ROW(each, 6, "28", "29", "6", "x14") JITNEY_ROW(each, 7, "30", "31", "7", "x15")

// One step of k: lane `lane` of A times the vectors b0 and b1; `after_…` comes after the products of that row, whether the tile
// has it or not.
#define JITNEY_PRODUCTS(r, left, right, a, lane, b0, b1) \
  JITNEY_IF_ROW(r) \
  "fmla v" left ".4s, v" b0 ".4s, v" a ".s[" #lane "]\n" \
  "fmla v" right ".4s, v" b1 ".4s, v" a ".s[" #lane "]\n" \
  JITNEY_END
#define JITNEY_STEP(lane, b0, b1, after) \
  JITNEY_PRODUCTS(0, "16", "17", "0", lane, b0, b1) after(0) JITNEY_PRODUCTS(1, "18", "19", "1", lane, b0, b1) after(1) \
  JITNEY_PRODUCTS(2, "20", "21", "2", lane, b0, b1) after(2) JITNEY_PRODUCTS(3, "22", "23", "3", lane, b0, b1) after(3) \
  JITNEY_PRODUCTS(4, "24", "25", "4", lane, b0, b1) after(4) JITNEY_PRODUCTS(5, "26", "27", "5", lane, b0, b1) after(5) \
  JITNEY_PRODUCTS(6, "28", "29", "6", lane, b0, b1) after(6) JITNEY_PRODUCTS(7, "30", "31", "7", lane, b0, b1) after(7)
#define JITNEY_NOTHING(r)

// The beginning: of the run, of a group of rows, of a tap.
#define JITNEY_ZERO(r, left, right, a, pointer) "movi v" left ".4s, #0\n" "movi v" right ".4s, #0\n"
#define JITNEY_BEGIN \
  "ldp x1, x24, " JITNEY_FIELD(c) "\n" \
  "ldr x2, " JITNEY_FIELD(residual) "\n" \
  "ldr x4, " JITNEY_FIELD(count) "\n" \
  "ldr x23, " JITNEY_FIELD(k) "\n" \
  ".if %c[source] != 0\n" "ldp x3, x25, " JITNEY_FIELD(copy) "\n" JITNEY_END \
  JITNEY_IF_ROWS "ldp x20, x21, " JITNEY_FIELD(a) "\n" "ldr x22, " JITNEY_FIELD(table) "\n" JITNEY_END \
  ".Lgroup%=:\n" \
  "ldp x5, x6, " JITNEY_FIELD(b) "\n" \
  ".if %c[source] != 0\n" "mov x7, x3\n" JITNEY_END \
  JITNEY_EACH_ROW(JITNEY_ZERO) \
  ".Ltap%=:\n" \
  JITNEY_IF_ROWS \
  "cbz x22, .Lplain%=\n" \
  "ldp x8, x9, [x22]\n" \
  JITNEY_IF_ROW(2) "ldp x10, x11, [x22, #16]\n" JITNEY_END \
  JITNEY_IF_ROW(4) "ldp x12, x13, [x22, #32]\n" JITNEY_END \
  JITNEY_IF_ROW(6) "ldp x14, x15, [x22, #48]\n" JITNEY_END \
  "add x22, x22, #64\n" \
  "b .Lrows_known%=\n" \
  ".Lplain%=:\n" \
  "mov x8, x20\n" \
  "add x9, x8, x21\n" \
  JITNEY_IF_ROW(2) "add x10, x9, x21\n" JITNEY_END JITNEY_IF_ROW(3) "add x11, x10, x21\n" JITNEY_END \
  JITNEY_IF_ROW(4) "add x12, x11, x21\n" JITNEY_END JITNEY_IF_ROW(5) "add x13, x12, x21\n" JITNEY_END \
  JITNEY_IF_ROW(6) "add x14, x13, x21\n" JITNEY_END JITNEY_IF_ROW(7) "add x15, x14, x21\n" JITNEY_END \
  ".if %c[used] == 1\n" "mov x20, x9\n" JITNEY_END \
  ".if %c[used] == 2\n" "add x20, x9, x21\n" JITNEY_END \
  ".if %c[used] == 3\n" "add x20, x10, x21\n" JITNEY_END \
  ".if %c[used] == 4\n" "add x20, x11, x21\n" JITNEY_END \
  ".if %c[used] == 5\n" "add x20, x12, x21\n" JITNEY_END \
  ".if %c[used] == 6\n" "add x20, x13, x21\n" JITNEY_END \
  ".if %c[used] == 7\n" "add x20, x14, x21\n" JITNEY_END \
  ".if %c[used] == 8\n" "add x20, x15, x21\n" JITNEY_END \
  ".Lrows_known%=:\n" \
  JITNEY_END \
  "lsr x16, x23, #2\n" \
  "cbz x16, .Lrest%=\n"

// The end: a tap's last k%4 steps, one by one, with a lane of v0 and v4 for each row; what comes after the sums; stores.
#define JITNEY_LANE(r, vector, lane, pointer) JITNEY_IF_ROW(r) "ld1 {" vector ".s}[" #lane "], [" pointer "], #4\n" JITNEY_END
#define JITNEY_BIAS(r, left, right, a, pointer) \
  "fadd v" left ".4s, v" left ".4s, v0.4s\n" "fadd v" right ".4s, v" right ".4s, v1.4s\n"
#define JITNEY_RESIDUAL(r, left, right, a, pointer) "ldp q0, q1, [x2]\n" "add x2, x2, x16\n" JITNEY_BIAS(r, left, right, a, pointer)
#define JITNEY_AT_LEAST(r, left, right, a, pointer) \
  "fmax v" left ".4s, v" left ".4s, v0.4s\n" "fmax v" right ".4s, v" right ".4s, v0.4s\n"
#define JITNEY_AT_MOST(r, left, right, a, pointer) \
  "fmin v" left ".4s, v" left ".4s, v1.4s\n" "fmin v" right ".4s, v" right ".4s, v1.4s\n"
#define JITNEY_STORE(r, left, right, a, pointer) "stp q" left ", q" right ", [x1]\n" "add x1, x1, x24\n"
#define JITNEY_FINISH \
  ".Lrest%=:\n" \
  "ands x16, x23, #3\n" \
  "b.eq .Ltap_done%=\n" \
  ".Lsingle%=:\n" \
  JITNEY_IF_COPIED \
  JITNEY_IF_ROW(4) "ldp q0, q4, [x7], #32\n" JITNEY_ELSE "ldr q0, [x7], #16\n" JITNEY_END \
  JITNEY_ELSE \
  JITNEY_LANE(0, "v0", 0, "x8") JITNEY_LANE(1, "v0", 1, "x9") JITNEY_LANE(2, "v0", 2, "x10") JITNEY_LANE(3, "v0", 3, "x11") \
  JITNEY_LANE(4, "v4", 0, "x12") JITNEY_LANE(5, "v4", 1, "x13") JITNEY_LANE(6, "v4", 2, "x14") JITNEY_LANE(7, "v4", 3, "x15") \
  JITNEY_END \
  JITNEY_IF_COPYING \
  JITNEY_IF_ROW(4) "stp q0, q4, [x7], #32\n" JITNEY_ELSE "str q0, [x7], #16\n" JITNEY_END \
  JITNEY_END \
  "ldp q8, q9, [x5], #32\n" \
  "subs x16, x16, #1\n" \
  JITNEY_PRODUCTS(0, "16", "17", "0", 0, "8", "9") JITNEY_PRODUCTS(1, "18", "19", "0", 1, "8", "9") \
  JITNEY_PRODUCTS(2, "20", "21", "0", 2, "8", "9") JITNEY_PRODUCTS(3, "22", "23", "0", 3, "8", "9") \
  JITNEY_PRODUCTS(4, "24", "25", "4", 0, "8", "9") JITNEY_PRODUCTS(5, "26", "27", "4", 1, "8", "9") \
  JITNEY_PRODUCTS(6, "28", "29", "4", 2, "8", "9") JITNEY_PRODUCTS(7, "30", "31", "4", 3, "8", "9") \
  "b.ne .Lsingle%=\n" \
  ".Ltap_done%=:\n" \
  "subs x6, x6, #1\n" \
  "b.ne .Ltap%=\n" \
  "ldp x16, x17, " JITNEY_FIELD(bias) "\n" \
  "cbz x16, .Lno_bias%=\n" \
  "ldp q0, q1, [x16]\n" \
  JITNEY_EACH_ROW(JITNEY_BIAS) \
  ".Lno_bias%=:\n" \
  "cbz x2, .Lno_residual%=\n" \
  "ldr x16, " JITNEY_FIELD(ldr) "\n" \
  JITNEY_EACH_ROW(JITNEY_RESIDUAL) \
  ".Lno_residual%=:\n" \
  "ldp s0, s1, " JITNEY_FIELD(clamp) "\n" \
  "tbz x17, #0, .Lno_low%=\n" \
  "dup v0.4s, v0.s[0]\n" \
  JITNEY_EACH_ROW(JITNEY_AT_LEAST) \
  ".Lno_low%=:\n" \
  "tbz x17, #1, .Lno_high%=\n" \
  "dup v1.4s, v1.s[0]\n" \
  JITNEY_EACH_ROW(JITNEY_AT_MOST) \
  ".Lno_high%=:\n" \
  ".if %c[source] != 0\n" "add x3, x3, x25\n" JITNEY_END \
  "subs x4, x4, #1\n" \
  JITNEY_EACH_ROW(JITNEY_STORE) \
  "b.ne .Lgroup%=\n"

#define JITNEY_OPERANDS \
  : \
  : [run] "r"(&run), [used] "i"(kUsed), [source] "i"(static_cast<int>(kSource)), [block] "i"(kUsed > 4 ? 128 : 64), \
    [a] "i"(offsetof(TileRun, a)), [table] "i"(offsetof(TileRun, table)), [copy] "i"(offsetof(TileRun, copy)), \
    [b] "i"(offsetof(TileRun, b)), [k] "i"(offsetof(TileRun, k)), [c] "i"(offsetof(TileRun, c)), \
    [bias] "i"(offsetof(TileRun, bias)), [residual] "i"(offsetof(TileRun, residual)), [ldr] "i"(offsetof(TileRun, ldr)), \
    [clamp] "i"(offsetof(TileRun, clamp)), [count] "i"(offsetof(TileRun, count)) \
  : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", \
    "x20", "x21", "x22", "x23", "x24", "x25", "cc", "memory", \
    "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", \
    "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31"
// clang-format on
