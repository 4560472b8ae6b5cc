// Register tiles two vectors wide for a panel of B, written once for whichever V was included before.
// Included by f32_gemm_*.cpp only, which say how many rows a tile has (JITNEY_ROWS(X) is X(0) X(1) … X(kRows - 1)) and whether
// tiles are inlined into the loop over them (JITNEY_TILE): that saves a call, but takes registers from the rows' pointers.
#pragma once

#include "cpu/kernels/gemm/gemm.h"

namespace jitney::kernels {
namespace {

#define JITNEY_COUNT(r) +1
constexpr std::size_t kRows = JITNEY_ROWS(JITNEY_COUNT);
#undef JITNEY_COUNT
constexpr std::size_t kColumns = 2 * kLanes;
constexpr std::size_t kUnroll = 4;
/// The processor's own prefetching stops at each page of a panel that is larger than the first-level cache.
constexpr std::size_t kPrefetchBytes = 2048;
/// What a tile fetches of the next panel, so that the first tile there does not wait for memory.
constexpr std::size_t kAheadBytes = kColumns * sizeof(float);

inline void prefetch_near(const void* p) { __builtin_prefetch(p, 0, 3); }
inline void prefetch_far(const void* p) { __builtin_prefetch(p, 0, 2); }

/// Where the next tile of a panel begins.
struct Place {
  const float* a;
  const float* const* table;
  float* c;
  const float* residual;
  const char* ahead;
  std::ptrdiff_t ahead_left;  // bytes
};

// Accumulators are named: gcc stores a 2-D array of them to memory in every iteration.
template <std::size_t kUsed, bool kNarrow>
JITNEY_TILE void tile(const PanelRun& run, const Place& place, const float* const* rows) {
#define JITNEY_DECLARE(r) [[maybe_unused]] V left##r = zero(), right##r = zero();
  JITNEY_ROWS(JITNEY_DECLARE)
  const float* b = run.b;
  const std::size_t k = run.k;
  const char* ahead = place.ahead_left > 0 ? place.ahead : reinterpret_cast<const char*>(b);
  for (std::size_t tap = run.taps; tap != 0; --tap, rows += kRows) {
#define JITNEY_ROW(r) [[maybe_unused]] const float* a##r = rows[r < kUsed ? r : 0];
    JITNEY_ROWS(JITNEY_ROW)
#define JITNEY_STEP(r)                                    \
  if constexpr (r < kUsed) {                              \
    const V a = set(a##r[i + u]);                         \
    add_product(left##r, a, b0);                          \
    if constexpr (!kNarrow) add_product(right##r, a, b1); \
  }
#define JITNEY_MULTIPLY                                           \
  {                                                               \
    const V b0 = load(b + u * kColumns);                          \
    [[maybe_unused]] V b1 = zero();                               \
    if constexpr (!kNarrow) b1 = load(b + u * kColumns + kLanes); \
    JITNEY_ROWS(JITNEY_STEP)                                      \
  }
    std::size_t i = 0;
    for (; i + kUnroll <= k; i += kUnroll, b += kUnroll * kColumns) {
      for (std::size_t line = 0; line < kAheadBytes; line += 64) prefetch_far(ahead + line);
      ahead += kAheadBytes;
#pragma GCC unroll 4
      for (std::size_t u = 0; u < kUnroll; ++u) {
        prefetch_near(reinterpret_cast<const char*>(b + u * kColumns) + kPrefetchBytes);
        if constexpr (kColumns * sizeof(float) > 64 && !kNarrow)
          prefetch_near(reinterpret_cast<const char*>(b + u * kColumns) + kPrefetchBytes + 64);
        JITNEY_MULTIPLY
      }
    }
    constexpr std::size_t u = 0;
    for (; i < k; ++i, b += kColumns) JITNEY_MULTIPLY
  }

  const auto finish = [&](auto left_part, auto right_part) {
    if (run.bias != nullptr) {
      const V bias_left = left_part.load(run.bias);
      [[maybe_unused]] V bias_right = zero();
      if constexpr (!kNarrow) bias_right = right_part.load(run.bias + kLanes);
#define JITNEY_BIAS(r)                                        \
  if constexpr (r < kUsed) {                                  \
    left##r = left##r + bias_left;                            \
    if constexpr (!kNarrow) right##r = right##r + bias_right; \
  }
      JITNEY_ROWS(JITNEY_BIAS)
    }
    if (place.residual != nullptr) {
#define JITNEY_RESIDUAL(r)                                                                                \
  if constexpr (r < kUsed) {                                                                              \
    left##r = left##r + left_part.load(place.residual + r * run.ldr);                                     \
    if constexpr (!kNarrow) right##r = right##r + right_part.load(place.residual + r * run.ldr + kLanes); \
  }
      JITNEY_ROWS(JITNEY_RESIDUAL)
    }
    const V low = set(run.clamp.low);
    const V high = set(run.clamp.high);
#define JITNEY_STORE(r)                                                                                               \
  if constexpr (r < kUsed) {                                                                                          \
    left_part.store(place.c + r * run.ldc, at_most(at_least(left##r, low), high));                                    \
    if constexpr (!kNarrow) right_part.store(place.c + r * run.ldc + kLanes, at_most(at_least(right##r, low), high)); \
  }
    JITNEY_ROWS(JITNEY_STORE)
  };
  constexpr std::size_t kWhole = kNarrow ? kLanes : kColumns;
  if (run.columns == kWhole) {
    finish(WholeVector{}, WholeVector{});
  } else if constexpr (kNarrow) {
    finish(PartVector{run.columns}, WholeVector{});
  } else {
    finish(WholeVector{}, PartVector{run.columns - kLanes});
  }
#undef JITNEY_DECLARE
#undef JITNEY_ROW
#undef JITNEY_STEP
#undef JITNEY_MULTIPLY
#undef JITNEY_BIAS
#undef JITNEY_RESIDUAL
#undef JITNEY_STORE
}

template <std::size_t kUsed, bool kNarrow>
void groups_of(const PanelRun& run, Place& place, std::size_t count) {
  const std::ptrdiff_t fetched = static_cast<std::ptrdiff_t>(run.taps * (run.k / kUnroll) * kAheadBytes);
  constexpr std::ptrdiff_t kHeight = static_cast<std::ptrdiff_t>(kUsed);
  for (; count != 0; --count) {
    const float* plain[kRows];
    const float* const* rows = place.table;
    if (rows == nullptr) {
      for (std::size_t r = 0; r < kUsed; ++r) plain[r] = place.a + static_cast<std::ptrdiff_t>(r) * run.lda;
      rows = plain;
      place.a += kHeight * run.lda;
    } else {
      place.table += kRows * run.taps;
    }
    tile<kUsed, kNarrow>(run, place, rows);
    place.c += kHeight * run.ldc;
    if (place.residual != nullptr) place.residual += kHeight * run.ldr;
    place.ahead += fetched;
    place.ahead_left -= fetched;
  }
}

using GroupsOf = void (*)(const PanelRun& run, Place& place, std::size_t count);
#define JITNEY_WIDE(r) groups_of<r + 1, false>,
#define JITNEY_NARROW(r) groups_of<r + 1, true>,
constexpr GroupsOf kGroupsOf[2][kRows] = {{JITNEY_ROWS(JITNEY_WIDE)}, {JITNEY_ROWS(JITNEY_NARROW)}};
#undef JITNEY_WIDE
#undef JITNEY_NARROW

void run_panel(const PanelRun& given) {
  const PanelRun run = given;  // a copy that c cannot overlap, so that its fields stay in registers
  Place place{run.a, run.table, run.c, run.residual, reinterpret_cast<const char*>(run.next_b), 0};
  if (run.next_b != nullptr) place.ahead_left = static_cast<std::ptrdiff_t>(run.taps * run.k * kColumns * sizeof(float));
  const auto& of_height = kGroupsOf[run.columns <= kLanes ? 1 : 0];
  const std::size_t shorter = run.groups.count - run.groups.taller;
  if (run.groups.taller != 0) of_height[run.groups.base](run, place, run.groups.taller);
  if (shorter != 0) of_height[run.groups.base - 1](run, place, shorter);
}

// A single row leaves most accumulators of a tile idle and waits for each FMA; four panels at once keep 8 chains in flight.
constexpr std::size_t kWidePanels = 4;

void wide_row(const float* a, std::size_t k, const float* b, float* c) {
  const std::size_t floats = k * kColumns;
#define JITNEY_PANELS(X) X(0) X(1) X(2) X(3)
#define JITNEY_DECLARE(p)                 \
  const float* panel##p = b + p * floats; \
  V left##p = zero(), right##p = zero();
  JITNEY_PANELS(JITNEY_DECLARE)
  for (std::size_t i = 0; i < k; ++i) {
    const V x = set(a[i]);
#define JITNEY_STEP(p)                                      \
  left##p = fma(x, load(panel##p + i * kColumns), left##p); \
  right##p = fma(x, load(panel##p + i * kColumns + kLanes), right##p);
    JITNEY_PANELS(JITNEY_STEP)
  }
#define JITNEY_FINISH(p)            \
  store(c + p * kColumns, left##p); \
  store(c + p * kColumns + kLanes, right##p);
  JITNEY_PANELS(JITNEY_FINISH)
#undef JITNEY_PANELS
#undef JITNEY_DECLARE
#undef JITNEY_STEP
#undef JITNEY_FINISH
}

}  // namespace
}  // namespace jitney::kernels
