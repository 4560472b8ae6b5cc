// GEMM register tile of 4×8 floats in portable C++, which compilers turn into whatever vectors the baseline has.
// Product and sum are rounded separately: a fused multiply-add in software would be very slow.
#include "cpu/kernels/gemm/gemm.h"

namespace jitney::kernels {
namespace {

constexpr std::size_t kRows = 4;
constexpr std::size_t kColumns = 8;

struct Row {
  float v[kColumns] = {};

  void accumulate(float a, const float* b) {
    for (std::size_t j = 0; j < kColumns; ++j) v[j] += a * b[j];
  }
};

void finish_row(const MicroTile& t, std::size_t row, const Row& sums) {
  const float* residual = t.residual == nullptr ? nullptr : t.residual + static_cast<std::ptrdiff_t>(row) * t.ldr;
  float* c = t.c + static_cast<std::ptrdiff_t>(row) * t.ldc;
  for (std::size_t j = 0; j < kColumns; ++j) {
    float x = sums.v[j];
    if (t.bias != nullptr) x += t.bias[j];
    if (residual != nullptr) x += residual[j];
    x = x < t.clamp.low ? t.clamp.low : x;
    c[j] = x > t.clamp.high ? t.clamp.high : x;
  }
}

template <std::size_t kUsed>
void tile(const MicroTile& t) {
  Row row0, row1, row2, row3;
  const float* b = t.b;
  const float* const* rows = t.rows;
  for (std::size_t tap = t.taps; tap != 0; --tap, rows += kRows) {
    for (std::size_t i = 0; i < t.k; ++i, b += kColumns) {
      row0.accumulate(rows[0][i], b);
      if constexpr (kUsed > 1) row1.accumulate(rows[1][i], b);
      if constexpr (kUsed > 2) row2.accumulate(rows[2][i], b);
      if constexpr (kUsed > 3) row3.accumulate(rows[3][i], b);
    }
  }
  finish_row(t, 0, row0);
  if constexpr (kUsed > 1) finish_row(t, 1, row1);
  if constexpr (kUsed > 2) finish_row(t, 2, row2);
  if constexpr (kUsed > 3) finish_row(t, 3, row3);
}

void wide_row(const float* a, std::size_t k, const float* b, float* c) {
  Row sums;
  for (std::size_t i = 0; i < k; ++i) sums.accumulate(a[i], b + i * kColumns);
  for (std::size_t j = 0; j < kColumns; ++j) c[j] = sums.v[j];
}

}  // namespace

extern const GemmKernel f32_gemm_4x8_scalar;  // const alone would hide it from other files
constinit const GemmKernel f32_gemm_4x8_scalar{
    "f32_gemm_4x8_scalar", Isa::scalar, kRows, kColumns, {tile<1>, tile<2>, tile<3>, tile<4>}, 1, wide_row, epilogue_scalar};

}  // namespace jitney::kernels
