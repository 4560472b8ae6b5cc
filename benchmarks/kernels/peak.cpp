// The processor's peak: independent multiply-adds on registers, as wide as the level has them.
#include <algorithm>
#include <chrono>
#include <cstddef>

#include "bench.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace jitney::bench {
namespace {

constexpr std::size_t kTimes = 1'000'000;
volatile float sink = 0;

// Twelve chains: more than any processor's latency times its multiply-adds a cycle.
#define JITNEY_CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

#if defined(__x86_64__)

__attribute__((target("avx2,fma"))) double run_avx2() {
  const __m256 a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(0.25f);
#define JITNEY_DECLARE(i) __m256 x##i = _mm256_set1_ps(static_cast<float>(i));
#define JITNEY_STEP(i) x##i = _mm256_fmadd_ps(x##i, a, b);
#define JITNEY_SUM(i) sum = _mm256_add_ps(sum, x##i);
  JITNEY_CHAINS(JITNEY_DECLARE)
  for (std::size_t i = 0; i < kTimes; ++i) {
    JITNEY_CHAINS(JITNEY_STEP)
  }
  __m256 sum = a;
  JITNEY_CHAINS(JITNEY_SUM)
#undef JITNEY_DECLARE
#undef JITNEY_STEP
#undef JITNEY_SUM
  sink = _mm256_cvtss_f32(sum);
  return 12.0 * 8 * 2 * kTimes;
}

__attribute__((target("avx512f"))) double run_avx512() {
  const __m512 a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(0.25f);
#define JITNEY_DECLARE(i) __m512 x##i = _mm512_set1_ps(static_cast<float>(i));
#define JITNEY_STEP(i) x##i = _mm512_fmadd_ps(x##i, a, b);
#define JITNEY_SUM(i) sum = _mm512_add_ps(sum, x##i);
  JITNEY_CHAINS(JITNEY_DECLARE)
  for (std::size_t i = 0; i < kTimes; ++i) {
    JITNEY_CHAINS(JITNEY_STEP)
  }
  __m512 sum = a;
  JITNEY_CHAINS(JITNEY_SUM)
#undef JITNEY_DECLARE
#undef JITNEY_STEP
#undef JITNEY_SUM
  sink = _mm512_cvtss_f32(sum);
  return 12.0 * 16 * 2 * kTimes;
}

#elif defined(__aarch64__)

double run_neon() {
  const float32x4_t a = vdupq_n_f32(0.5f), b = vdupq_n_f32(0.25f);
#define JITNEY_DECLARE(i) float32x4_t x##i = vdupq_n_f32(static_cast<float>(i));
#define JITNEY_STEP(i) x##i = vfmaq_f32(b, x##i, a);
#define JITNEY_SUM(i) sum = vaddq_f32(sum, x##i);
  JITNEY_CHAINS(JITNEY_DECLARE)
  for (std::size_t i = 0; i < kTimes; ++i) {
    JITNEY_CHAINS(JITNEY_STEP)
  }
  float32x4_t sum = a;
  JITNEY_CHAINS(JITNEY_SUM)
#undef JITNEY_DECLARE
#undef JITNEY_STEP
#undef JITNEY_SUM
  sink = vgetq_lane_f32(sum, 0);
  return 12.0 * 4 * 2 * kTimes;
}

#endif

// The portable kernels are compiled for the baseline, four floats wide at best, and round products and sums separately.
double run_scalar() {
  typedef float Four __attribute__((vector_size(16)));
  const Four a = {0.5f, 0.5f, 0.5f, 0.5f}, b = {0.25f, 0.25f, 0.25f, 0.25f};
#define JITNEY_DECLARE(i) Four x##i = {static_cast<float>(i), 1, 2, 3};
#define JITNEY_STEP(i) x##i = x##i * a + b;
#define JITNEY_SUM(i) sum = sum + x##i;
  JITNEY_CHAINS(JITNEY_DECLARE)
  for (std::size_t i = 0; i < kTimes; ++i) {
    JITNEY_CHAINS(JITNEY_STEP)
  }
  Four sum = a;
  JITNEY_CHAINS(JITNEY_SUM)
#undef JITNEY_DECLARE
#undef JITNEY_STEP
#undef JITNEY_SUM
  sink = sum[0];
  return 12.0 * 4 * 2 * kTimes;
}

}  // namespace

double peak_gflops(Isa isa) {
  double (*run)() = run_scalar;
#if defined(__x86_64__)
  if (isa == Isa::avx512) run = run_avx512;
  if (isa == Isa::avx2 || isa == Isa::avxvnni) run = run_avx2;
#elif defined(__aarch64__)
  if (isa != Isa::scalar) run = run_neon;
#endif
  double best = 0;
  for (int round = 0; round < 9; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const double flops = run();
    best = std::max(best, flops / std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

}  // namespace jitney::bench
