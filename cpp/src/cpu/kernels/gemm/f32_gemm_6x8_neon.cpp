// GEMM register tile of 6×8 floats for AArch64 NEON: 12 accumulators, four steps of k per load of A, multiplied by lane.
#include <arm_neon.h>

#include "cpu/kernels/gemm/gemm.h"

namespace jitney::kernels {
namespace {

constexpr std::size_t kRows = 6;
constexpr std::size_t kColumns = 8;
constexpr std::size_t kWidePanels = 4;

inline void finish_row(const MicroTile& t, std::size_t row, float32x4_t left, float32x4_t right) {
  if (t.bias != nullptr) {
    left = vaddq_f32(left, vld1q_f32(t.bias));
    right = vaddq_f32(right, vld1q_f32(t.bias + 4));
  }
  if (t.residual != nullptr) {
    const float* residual = t.residual + static_cast<std::ptrdiff_t>(row) * t.ldr;
    left = vaddq_f32(left, vld1q_f32(residual));
    right = vaddq_f32(right, vld1q_f32(residual + 4));
  }
  const float32x4_t low = vdupq_n_f32(t.clamp.low);
  const float32x4_t high = vdupq_n_f32(t.clamp.high);
  float* c = t.c + static_cast<std::ptrdiff_t>(row) * t.ldc;
  vst1q_f32(c, vminq_f32(vmaxq_f32(left, low), high));
  vst1q_f32(c + 4, vminq_f32(vmaxq_f32(right, low), high));
}

// Accumulators are named: gcc stores a 2-D array of them to memory in every iteration.
template <std::size_t kUsed>
void tile(const MicroTile& t) {
#define JITNEY_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define JITNEY_DECLARE(r) float32x4_t left##r = vdupq_n_f32(0.0f), right##r = vdupq_n_f32(0.0f);
  JITNEY_ROWS(JITNEY_DECLARE)
  const float* b = t.b;
  const float* const* rows = t.rows;
  for (std::size_t tap = t.taps; tap != 0; --tap, rows += kRows) {
    const float* a0 = rows[0];
    const float* a1 = rows[1];
    const float* a2 = rows[2];
    const float* a3 = rows[3];
    const float* a4 = rows[4];
    const float* a5 = rows[5];
    std::size_t i = 0;
    for (; i + 4 <= t.k; i += 4, b += 4 * kColumns) {
#define JITNEY_LOAD(r) const float32x4_t x##r = vld1q_f32(a##r + (r < kUsed ? i : 0));
      JITNEY_ROWS(JITNEY_LOAD)
#define JITNEY_LANE(r)                                     \
  if constexpr (r < kUsed) {                               \
    left##r = vfmaq_laneq_f32(left##r, b0, x##r, kLane);   \
    right##r = vfmaq_laneq_f32(right##r, b1, x##r, kLane); \
  }
#define JITNEY_STEP(lane)                                      \
  {                                                            \
    constexpr int kLane = lane;                                \
    const float32x4_t b0 = vld1q_f32(b + lane * kColumns);     \
    const float32x4_t b1 = vld1q_f32(b + lane * kColumns + 4); \
    JITNEY_ROWS(JITNEY_LANE)                                   \
  }
      JITNEY_STEP(0)
      JITNEY_STEP(1)
      JITNEY_STEP(2)
      JITNEY_STEP(3)
    }
    for (; i < t.k; ++i, b += kColumns) {
      const float32x4_t b0 = vld1q_f32(b);
      const float32x4_t b1 = vld1q_f32(b + 4);
#define JITNEY_SINGLE(r)                           \
  if constexpr (r < kUsed) {                       \
    const float32x4_t x = vld1q_dup_f32(a##r + i); \
    left##r = vfmaq_f32(left##r, b0, x);           \
    right##r = vfmaq_f32(right##r, b1, x);         \
  }
      JITNEY_ROWS(JITNEY_SINGLE)
    }
  }
#define JITNEY_FINISH(r) \
  if constexpr (r < kUsed) finish_row(t, r, left##r, right##r);
  JITNEY_ROWS(JITNEY_FINISH)
#undef JITNEY_DECLARE
#undef JITNEY_LOAD
#undef JITNEY_LANE
#undef JITNEY_STEP
#undef JITNEY_SINGLE
#undef JITNEY_FINISH
#undef JITNEY_ROWS
}

// A single row leaves 10 accumulators idle in a tile and waits for each FMA; four panels at once keep 8 chains in flight.
void wide_row(const float* a, std::size_t k, const float* b, float* c) {
  const std::size_t floats = k * kColumns;
  const float* panel0 = b;
  const float* panel1 = b + floats;
  const float* panel2 = b + 2 * floats;
  const float* panel3 = b + 3 * floats;
#define JITNEY_PANELS(X) X(0) X(1) X(2) X(3)
#define JITNEY_DECLARE(p) float32x4_t left##p = vdupq_n_f32(0.0f), right##p = vdupq_n_f32(0.0f);
  JITNEY_PANELS(JITNEY_DECLARE)
  for (std::size_t i = 0; i < k; ++i) {
    const float32x4_t x = vld1q_dup_f32(a + i);
#define JITNEY_STEP(p)                                                 \
  left##p = vfmaq_f32(left##p, vld1q_f32(panel##p + i * kColumns), x); \
  right##p = vfmaq_f32(right##p, vld1q_f32(panel##p + i * kColumns + 4), x);
    JITNEY_PANELS(JITNEY_STEP)
  }
#define JITNEY_FINISH(p)                \
  vst1q_f32(c + p * kColumns, left##p); \
  vst1q_f32(c + p * kColumns + 4, right##p);
  JITNEY_PANELS(JITNEY_FINISH)
#undef JITNEY_DECLARE
#undef JITNEY_STEP
#undef JITNEY_FINISH
#undef JITNEY_PANELS
}

}  // namespace

extern const GemmKernel f32_gemm_6x8_neon;  // const alone would hide it from other files
constinit const GemmKernel f32_gemm_6x8_neon{
    "f32_gemm_6x8_neon", Isa::neon, kRows,        kColumns, {tile<1>, tile<2>, tile<3>, tile<4>, tile<5>, tile<6>},
    kWidePanels,         wide_row,  epilogue_neon};

}  // namespace jitney::kernels
