// Assembly text of the transforms of inputs and sums for tiles of 4×4 results on AArch64 NEON. Included by
// f32_winograd_4c_neon.cpp only.
//
// Assembly, because 24 of 36 intermediate vectors stay in registers only if every other one is where it should be: compilers
// spill them all. What is next to each other does not depend on each other, for cores that start instructions in their order.
#pragma once

namespace jitney::kernels {
namespace {

// clang-format off

// Bᵀ·d of six vectors d0 … d5, in place but for points 1, 2 and 3, which go to p1, p2 and p3; `t` is spent. v30 holds 2.5, 2, 0.5
// and √½, v31 √2 in its first lane.
#define JITNEY_INPUT(d0, d1, d2, d3, d4, d5, p1, p2, p3, t) \
  "fmls v" d0 ".4s, v" d2 ".4s, v30.s[0]\n" \
  "fmls v" d5 ".4s, v" d3 ".4s, v30.s[0]\n" \
  "mov v" p2 ".16b, v" d4 ".16b\n" \
  "mov v" t ".16b, v" d3 ".16b\n" \
  "fadd v" d0 ".4s, v" d0 ".4s, v" d4 ".4s\n" \
  "fadd v" d5 ".4s, v" d5 ".4s, v" d1 ".4s\n" \
  "fmls v" p2 ".4s, v" d2 ".4s, v30.s[1]\n" \
  "fmls v" t ".4s, v" d1 ".4s, v30.s[1]\n" \
  "fmls v" d4 ".4s, v" d2 ".4s, v30.s[2]\n" \
  "fmls v" d3 ".4s, v" d1 ".4s, v30.s[2]\n" \
  "mov v" p1 ".16b, v" p2 ".16b\n" \
  "mov v" p3 ".16b, v" d4 ".16b\n" \
  "fmla v" p1 ".4s, v" t ".4s, v30.s[3]\n" \
  "fmls v" p2 ".4s, v" t ".4s, v30.s[3]\n" \
  "fmla v" p3 ".4s, v" d3 ".4s, v31.s[0]\n" \
  "fmls v" d4 ".4s, v" d3 ".4s, v31.s[0]\n"

// A column of inputs, whose addresses are in x4, x6, … or x5, x7, …: rows 0, 1, 2 and 5 go to registers, 3 and 4 to `rest`.
#define JITNEY_COLUMN(x0, x1, x2, x3, x4, x5, r0, r1, r2, r5, place) \
  "ldr q" r0 ", [" x0 ", %[at]]\n" \
  "ldr q24, [" x1 ", %[at]]\n" \
  "ldr q25, [" x2 ", %[at]]\n" \
  "ldr q26, [" x3 ", %[at]]\n" \
  "ldr q27, [" x4 ", %[at]]\n" \
  "ldr q" r5 ", [" x5 ", %[at]]\n" \
  JITNEY_INPUT(r0, "24", "25", "26", "27", r5, r1, r2, "28", "29") \
  "stp q28, q27, [%[rest], #" place "]\n"

#define JITNEY_TWO_COLUMNS(table0, table1, table2, table3, table4, table5, a0, a1, a2, a5, b0, b1, b2, b5, place_a, place_b) \
  "ldp x4, x5, [%[pixels], #" table0 "]\n" \
  "ldp x6, x7, [%[pixels], #" table1 "]\n" \
  "ldp x8, x9, [%[pixels], #" table2 "]\n" \
  "ldp x10, x11, [%[pixels], #" table3 "]\n" \
  "ldp x12, x13, [%[pixels], #" table4 "]\n" \
  "ldp x14, x15, [%[pixels], #" table5 "]\n" \
  JITNEY_COLUMN("x4", "x6", "x8", "x10", "x12", "x14", a0, a1, a2, a5, place_a) \
  JITNEY_COLUMN("x5", "x7", "x9", "x11", "x13", "x15", b0, b1, b2, b5, place_b)

#define JITNEY_STORE_POINT(v) "st1 {v" v ".4s}, [%[to]], %[step]\n"
#define JITNEY_ROW_OF_POINTS(d0, d1, d2, d3, d4, d5) \
  JITNEY_INPUT(d0, d1, d2, d3, d4, d5, "24", "25", "26", "27") \
  JITNEY_STORE_POINT(d0) JITNEY_STORE_POINT("24") JITNEY_STORE_POINT("25") JITNEY_STORE_POINT("26") \
  JITNEY_STORE_POINT(d4) JITNEY_STORE_POINT(d5)

/// A vector of channels of one tile: `at` bytes behind the pixels; its points go to `to`, `step` bytes apart.
inline void transform_inputs(const float* const* pixels, std::size_t at, float* to, std::size_t step) {
  alignas(16) static constexpr float kFactors[8] = {2.5f, 2.0f, 0.5f, Tile4::kA, Tile4::kB, 0, 0, 0};
  alignas(16) float rest[48];
  asm volatile(
      "ldp q30, q31, [%[factors]]\n"
      JITNEY_TWO_COLUMNS("0", "48", "96", "144", "192", "240", "0", "1", "2", "3", "4", "5", "6", "7", "0", "32")
      JITNEY_TWO_COLUMNS("16", "64", "112", "160", "208", "256", "8", "9", "10", "11", "12", "13", "14", "15", "64", "96")
      JITNEY_TWO_COLUMNS("32", "80", "128", "176", "224", "272", "16", "17", "18", "19", "20", "21", "22", "23", "128", "160")
      JITNEY_ROW_OF_POINTS("0", "4", "8", "12", "16", "20")
      JITNEY_ROW_OF_POINTS("1", "5", "9", "13", "17", "21")
      JITNEY_ROW_OF_POINTS("2", "6", "10", "14", "18", "22")
      "ldp q0, q1, [%[rest]]\n"
      "ldp q4, q5, [%[rest], #32]\n"
      "ldp q8, q9, [%[rest], #64]\n"
      "ldp q12, q13, [%[rest], #96]\n"
      "ldp q16, q17, [%[rest], #128]\n"
      "ldp q20, q21, [%[rest], #160]\n"
      JITNEY_ROW_OF_POINTS("0", "4", "8", "12", "16", "20")
      JITNEY_ROW_OF_POINTS("1", "5", "9", "13", "17", "21")
      JITNEY_ROW_OF_POINTS("3", "7", "11", "15", "19", "23")
      : [to] "+r"(to)
      : [pixels] "r"(pixels), [at] "r"(at), [step] "r"(step), [rest] "r"(rest), [factors] "r"(kFactors)
      : "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "memory", "v0", "v1", "v2", "v3", "v4", "v5",
        "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23",
        "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}

// Aᵀ·s of six vectors s0 … s5: results 0, 1, 2, 3 go to s0, t1, s4, s5. v28 and v29 hold the factors: those of results 0 and 2 in
// v28, those of 1 and 3 in v29, first that of points 1 and 2, then that of points 3 and 4.
#define JITNEY_RESULTS(s0, s1, s2, s3, s4, s5, t0, t1) \
  "fadd v" t0 ".4s, v" s1 ".4s, v" s2 ".4s\n" \
  "fsub v" s1 ".4s, v" s1 ".4s, v" s2 ".4s\n" \
  "fadd v" s2 ".4s, v" s3 ".4s, v" s4 ".4s\n" \
  "fsub v" s3 ".4s, v" s3 ".4s, v" s4 ".4s\n" \
  "fmla v" s0 ".4s, v" t0 ".4s, v28.s[0]\n" \
  "fmul v" s4 ".4s, v" t0 ".4s, v28.s[2]\n" \
  "fmul v" t1 ".4s, v" s1 ".4s, v29.s[0]\n" \
  "fmla v" s5 ".4s, v" s1 ".4s, v29.s[2]\n" \
  "fmla v" s0 ".4s, v" s2 ".4s, v28.s[1]\n" \
  "fmla v" s4 ".4s, v" s2 ".4s, v28.s[3]\n" \
  "fmla v" t1 ".4s, v" s3 ".4s, v29.s[1]\n" \
  "fmla v" s5 ".4s, v" s3 ".4s, v29.s[3]\n"

// A column of sums: its results by row go to s0, t1, s4, s5.
#define JITNEY_SUMS(offset0, offset1, offset2, offset3, offset4, offset5, s0, s4, s5, t1) \
  "ldr q" s0 ", [%[sums], #" offset0 "]\n" \
  "ldr q24, [%[sums], #" offset1 "]\n" \
  "ldr q25, [%[sums], #" offset2 "]\n" \
  "ldr q26, [%[sums], #" offset3 "]\n" \
  "ldr q" s4 ", [%[sums], #" offset4 "]\n" \
  "ldr q" s5 ", [%[sums], #" offset5 "]\n" \
  JITNEY_RESULTS(s0, "24", "25", "26", s4, s5, "27", t1)

#define JITNEY_EACH_RESULT(each, y0, y1, y2, y3) each(y0, 0) each(y1, 1) each(y2, 2) each(y3, 3)
#define JITNEY_ADD_BIAS(y, i) "fadd v" y ".4s, v" y ".4s, v30.4s\n"
#define JITNEY_ADD_RESIDUAL(y, i) \
  "ldr q31, [x5]\n" \
  "fadd v" y ".4s, v" y ".4s, v31.4s\n" \
  ".if " #i " < 3\n" "tbnz %w[flags], #" #i ", 1f\n" "add x5, x5, %[residual_pixel]\n" ".endif\n"
#define JITNEY_CLAMP_LOW(y, i) "fmax v" y ".4s, v" y ".4s, v26.4s\n"
#define JITNEY_CLAMP_HIGH(y, i) "fmin v" y ".4s, v" y ".4s, v27.4s\n"
#define JITNEY_STORE_RESULT(y, i) \
  "st1 {v" y ".4s}, [x4], %[pixel]\n" \
  ".if " #i " < 3\n" "tbnz %w[flags], #" #i ", 1f\n" ".endif\n"

// A row of results: sums of the columns in s0 … s5.
#define JITNEY_ROW_OF_RESULTS(s0, s1, s2, s3, s4, s5) \
  JITNEY_RESULTS(s0, s1, s2, s3, s4, s5, "24", "25") \
  JITNEY_EACH_RESULT(JITNEY_ADD_BIAS, s0, "25", s4, s5) \
  "cbz %[residual], 1f\n" \
  "mov x5, %[residual]\n" \
  "add %[residual], %[residual], %[residual_row]\n" \
  JITNEY_EACH_RESULT(JITNEY_ADD_RESIDUAL, s0, "25", s4, s5) \
  "1:\n" \
  "tbz %w[flags], #4, 1f\n" \
  JITNEY_EACH_RESULT(JITNEY_CLAMP_LOW, s0, "25", s4, s5) \
  "1:\n" \
  "tbz %w[flags], #5, 1f\n" \
  JITNEY_EACH_RESULT(JITNEY_CLAMP_HIGH, s0, "25", s4, s5) \
  "1:\n" \
  "mov x4, %[to]\n" \
  "add %[to], %[to], %[row]\n" \
  JITNEY_EACH_RESULT(JITNEY_STORE_RESULT, s0, "25", s4, s5) \
  "1:\n" \
  "subs %[rows], %[rows], #1\n" \
  "b.eq 2f\n"
/// Columns of the GEMM's panels: the sums of a tile's points lie so many floats apart.
constexpr std::size_t kSumColumns = 8;

/// Four columns of one tile, from `first` on.
inline void restore_results(const WinogradTileOutput& tile, std::size_t first) {
  constexpr float kScaleA = Tile4::kScaleA, kScaleB = Tile4::kScaleB;
  alignas(16) static constexpr float kFactors[8] = {kScaleA, kScaleB, kScaleA / 2, kScaleB * 2, kScaleA * Tile4::kA,
                                                    kScaleB * Tile4::kB, kScaleA / 2 * Tile4::kA, kScaleB * 2 * Tile4::kB};
  alignas(16) static constexpr float kNoBias[4] = {};
  constexpr std::ptrdiff_t kFloat = sizeof(float);
  const float* const bias = tile.bias != nullptr ? tile.bias + first : kNoBias;
  const float* residual = tile.residual != nullptr ? tile.residual + first : nullptr;
  float* to = tile.y + first;
  std::size_t rows = tile.rows;
  // Bit i: pixel i of a row is its last; bits 4 and 5: which bounds count.
  const unsigned flags = 1U << (tile.across - 1) | (tile.clamp.low != kNoClamp.low ? 16U : 0) | (tile.clamp.high != kNoClamp.high ? 32U : 0);
  asm volatile(
      "ldp q28, q29, [%[factors]]\n"
      JITNEY_SUMS("0", "192", "384", "576", "768", "960", "0", "2", "3", "1")
      JITNEY_SUMS("32", "224", "416", "608", "800", "992", "4", "6", "7", "5")
      JITNEY_SUMS("64", "256", "448", "640", "832", "1024", "8", "10", "11", "9")
      JITNEY_SUMS("96", "288", "480", "672", "864", "1056", "12", "14", "15", "13")
      JITNEY_SUMS("128", "320", "512", "704", "896", "1088", "16", "18", "19", "17")
      JITNEY_SUMS("160", "352", "544", "736", "928", "1120", "20", "22", "23", "21")
      "ldr q30, [%[bias]]\n"
      "ldp s26, s27, [%[bounds]]\n"
      "dup v26.4s, v26.s[0]\n"
      "dup v27.4s, v27.s[0]\n"
      JITNEY_ROW_OF_RESULTS("0", "4", "8", "12", "16", "20")
      JITNEY_ROW_OF_RESULTS("1", "5", "9", "13", "17", "21")
      JITNEY_ROW_OF_RESULTS("2", "6", "10", "14", "18", "22")
      JITNEY_ROW_OF_RESULTS("3", "7", "11", "15", "19", "23")
      "2:\n"
      : [to] "+r"(to), [residual] "+r"(residual), [rows] "+r"(rows)
      : [sums] "r"(tile.sums + first), [factors] "r"(kFactors), [bias] "r"(bias), [bounds] "r"(&tile.clamp), [flags] "r"(flags),
        [row] "r"(tile.row_stride * kFloat), [pixel] "r"(tile.pixel_stride * kFloat),
        [residual_row] "r"(tile.residual_row_stride * kFloat), [residual_pixel] "r"(tile.residual_pixel_stride * kFloat)
      : "x4", "x5", "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}
// clang-format on

}  // namespace
}  // namespace jitney::kernels
