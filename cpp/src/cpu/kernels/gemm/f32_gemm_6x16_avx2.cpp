// GEMM register tile of 6×16 floats for AVX2 and FMA: 12 accumulators, 2 registers of B, one broadcast of A at a time.
#include <immintrin.h>

#include "cpu/kernels/gemm/gemm.h"

namespace jitney::kernels {
namespace {

constexpr std::size_t kRows = 6;
constexpr std::size_t kColumns = 16;
constexpr std::size_t kWidePanels = 4;
constexpr std::size_t kPrefetch = 32 * kColumns;

inline void finish_row(const MicroTile& t, std::size_t row, __m256 left, __m256 right) {
  if (t.bias != nullptr) {
    left = _mm256_add_ps(left, _mm256_loadu_ps(t.bias));
    right = _mm256_add_ps(right, _mm256_loadu_ps(t.bias + 8));
  }
  if (t.residual != nullptr) {
    const float* residual = t.residual + static_cast<std::ptrdiff_t>(row) * t.ldr;
    left = _mm256_add_ps(left, _mm256_loadu_ps(residual));
    right = _mm256_add_ps(right, _mm256_loadu_ps(residual + 8));
  }
  // The second operand is returned if either is NaN: a NaN sum stays NaN.
  const __m256 low = _mm256_set1_ps(t.clamp.low);
  const __m256 high = _mm256_set1_ps(t.clamp.high);
  float* c = t.c + static_cast<std::ptrdiff_t>(row) * t.ldc;
  _mm256_storeu_ps(c, _mm256_min_ps(high, _mm256_max_ps(low, left)));
  _mm256_storeu_ps(c + 8, _mm256_min_ps(high, _mm256_max_ps(low, right)));
}

// Accumulators are named: gcc stores a 2-D array of them to memory in every iteration.
template <std::size_t kUsed>
void tile(const MicroTile& t) {
#define JITNEY_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define JITNEY_DECLARE(r) __m256 left##r = _mm256_setzero_ps(), right##r = _mm256_setzero_ps();
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
    for (std::size_t i = 0; i < t.k; ++i, b += kColumns) {
      // The processor's own prefetching stops at each page of a panel that is larger than the first-level cache.
      _mm_prefetch(reinterpret_cast<const char*>(b + kPrefetch), _MM_HINT_T0);
      const __m256 b0 = _mm256_loadu_ps(b);
      const __m256 b1 = _mm256_loadu_ps(b + 8);
#define JITNEY_STEP(r)                              \
  if constexpr (r < kUsed) {                        \
    const __m256 a = _mm256_broadcast_ss(a##r + i); \
    left##r = _mm256_fmadd_ps(a, b0, left##r);      \
    right##r = _mm256_fmadd_ps(a, b1, right##r);    \
  }
      JITNEY_ROWS(JITNEY_STEP)
    }
  }
#define JITNEY_FINISH(r) \
  if constexpr (r < kUsed) finish_row(t, r, left##r, right##r);
  JITNEY_ROWS(JITNEY_FINISH)
#undef JITNEY_DECLARE
#undef JITNEY_STEP
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
#define JITNEY_DECLARE(p) __m256 left##p = _mm256_setzero_ps(), right##p = _mm256_setzero_ps();
  JITNEY_PANELS(JITNEY_DECLARE)
  for (std::size_t i = 0; i < k; ++i) {
    const __m256 x = _mm256_broadcast_ss(a + i);
#define JITNEY_STEP(p)                                                             \
  left##p = _mm256_fmadd_ps(x, _mm256_loadu_ps(panel##p + i * kColumns), left##p); \
  right##p = _mm256_fmadd_ps(x, _mm256_loadu_ps(panel##p + i * kColumns + 8), right##p);
    JITNEY_PANELS(JITNEY_STEP)
  }
#define JITNEY_FINISH(p)                       \
  _mm256_storeu_ps(c + p * kColumns, left##p); \
  _mm256_storeu_ps(c + p * kColumns + 8, right##p);
  JITNEY_PANELS(JITNEY_FINISH)
#undef JITNEY_DECLARE
#undef JITNEY_STEP
#undef JITNEY_FINISH
#undef JITNEY_PANELS
}

}  // namespace

extern const GemmKernel f32_gemm_6x16_avx2;  // const alone would hide it from other files
constinit const GemmKernel f32_gemm_6x16_avx2{
    "f32_gemm_6x16_avx2", Isa::avx2, kRows,        kColumns, {tile<1>, tile<2>, tile<3>, tile<4>, tile<5>, tile<6>},
    kWidePanels,          wide_row,  epilogue_avx2};

}  // namespace jitney::kernels
